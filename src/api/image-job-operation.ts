import { z } from 'zod';
import type { IncomingRequest } from '../http/incoming-request.ts';
import { json, rateHeaders } from '../http/response.ts';
import { rateOf } from '../relay/admission.ts';
import { OPENAI_ERRORS, TOKEN_ERRORS } from './errors.ts';
import type { ApiBody, ApiOperation, ApiParts } from './operation.ts';

const ID = 'req_0WPlqUf4abcdefghijklmnop';

export const IMAGE_JOB_BODY: ApiBody = {
  name: 'ImageJob',
  schema: z.object({
    id: z.string().describe('Of the request too: GET /api/public/v1/requests/{id} is its receipt'),
    status: z.enum(['queued', 'running', 'done', 'failed']),
    created: z.int().describe('Seconds since 1970'),
    data: z
      .array(
        z.object({
          url: z.string().describe('A signed link that lives an hour from this answer'),
          revised_prompt: z.string().optional(),
        }),
      )
      .optional()
      .describe('The images of a job that is done'),
    error: z
      .looseObject({
        code: z.string(),
        message: z.string(),
        type: z.string(),
        param: z.string().nullable(),
      })
      .optional()
      .describe('Why a job failed, as an error of a request that is waited for. Nothing was charged.'),
  }),
  examples: { job: { id: ID, status: 'queued', created: 1_763_170_000 } },
};

export const imageJob: ApiOperation = {
  id: 'getImageJob',
  method: 'GET',
  path: '/api/public/v1/images/jobs/{id}',
  tag: 'Inference',
  summary: 'Get an image job and its images',
  description:
    'Jobs are made by image requests with `Prefer: respond-async`, and can be asked for seven days after they ended.',
  token: 'required',
  parameters: [{ name: 'id', description: 'Of the answer that made the job', example: ID }],
  answer: { description: 'The job', headers: 'rate', body: IMAGE_JOB_BODY },
  errors: [...TOKEN_ERRORS, 'not_found'],
  dialect: OPENAI_ERRORS,
  handle: (parts) => (incoming) => answerJob(incoming, parts),
};

async function answerJob(incoming: IncomingRequest, { callerAuth, imageJobs }: ApiParts): Promise<Response> {
  const snapshot = await callerAuth.account(callerAuth.caller(incoming));
  const { origin, requestId, parameters } = incoming;
  const job = await imageJobs.find(parameters[0] ?? '', snapshot.accountId, origin);
  return json(job, requestId, rateHeaders(rateOf(snapshot, 'images', callerAuth.parts)));
}
