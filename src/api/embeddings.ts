import { z } from 'zod';
import type { IncomingRequest } from '../http/router.ts';
import { parseBody, selectFields } from '../http/request-body.ts';
import { paidAnswer } from '../http/response.ts';
import type { Caller } from '../ledger/port.ts';
import { preferTokenError } from '../relay/admission.ts';
import { relayEmbeddings } from '../relay/embeddings.ts';
import {
  EMBEDDING_FIELDS,
  embeddingRequestSchema,
  type EmbeddingRequest,
} from '../wire/openai/embeddings.ts';
import { INFERENCE_ERRORS, OPENAI_ERRORS } from './errors.ts';
import { callOf, MAX_COST_FIELD, routeSelector, work } from './inference.ts';
import type { ApiOperation, ApiParts } from './operation.ts';

const embeddingAnswer = z.looseObject({
  model: z.string(),
  data: z.array(
    z.looseObject({
      index: z.int(),
      embedding: z.union([z.array(z.number()), z.string().describe('base64, if that was asked for')]),
    }),
  ),
  usage: z.looseObject({ prompt_tokens: z.int(), total_tokens: z.int() }).optional(),
});

export const embeddings: ApiOperation = {
  id: 'v1CreateEmbedding',
  method: 'POST',
  path: '/v1/embeddings',
  tag: 'OpenAI-compatible',
  summary: 'Create embeddings (OpenAI)',
  description:
    'Unknown fields are dropped and named in x-tollgate-dropped; what the backend adds to its answer is passed back.',
  token: 'required',
  request: {
    name: 'EmbeddingRequest',
    schema: embeddingRequestSchema.extend(MAX_COST_FIELD),
    examples: { simple: { model: 'svc_embed/text-embedding-3-small', input: 'What is a hold?' } },
  },
  answer: {
    description: 'One vector for each input',
    headers: 'paid',
    body: {
      name: 'EmbeddingAnswer',
      schema: embeddingAnswer,
      examples: {
        example: {
          object: 'list',
          model: 'svc_embed/text-embedding-3-small',
          data: [{ object: 'embedding', index: 0, embedding: [0.0023, -0.0093, 0.0151] }],
          usage: { prompt_tokens: 5, total_tokens: 5 },
        },
      },
    },
  },
  errors: INFERENCE_ERRORS,
  dialect: OPENAI_ERRORS,
  handle: work(embed),
};

async function embed(incoming: IncomingRequest, caller: Caller, parts: ApiParts): Promise<Response> {
  const { relay } = parts;
  const call = await preferTokenError({ caller, rate: 'chat' }, relay, async () => {
    const body = await incoming.body.json();
    const base = callOf(incoming, caller, body);
    const { body: fields, knobs } = selectFields(body.value, EMBEDDING_FIELDS);
    const request = parseBody(embeddingRequestSchema, fields) as EmbeddingRequest;
    return {
      ...base,
      selector: routeSelector(parts, base, request.model, 'embedding'),
      label: request.model,
      request,
      knobs,
      cap: 'lowered' as const,
    };
  });
  const reply = await relayEmbeddings(call, relay);
  return paidAnswer(reply.text, reply.summary, reply.charged);
}
