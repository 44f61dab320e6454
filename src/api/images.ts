import { z } from 'zod';
import { parseBody, selectFields } from '../http/request-body.ts';
import { paidAnswer, json, rateHeaders } from '../http/response.ts';
import type { IncomingRequest } from '../http/router.ts';
import { rateOf } from '../relay/admission.ts';
import type { AskedImages, ImageCall, RelayParts, CallBase } from '../relay/call.ts';
import { relayImages, type ImageReply } from '../relay/images.ts';
import { Fault } from '../std/fault.ts';
import type { RequestMemory } from '../std/held-memory.ts';
import type { NanoUsd } from '../std/money.ts';
import { IMAGE_FIELDS, imageRequestSchema, type ImageResponse } from '../wire/openai/images.ts';
import { COMMON_ERRORS, KEYED_INFERENCE_ERRORS, OPENAI_ERRORS, TOKEN_ERRORS } from './errors.ts';
import { prefersAsync, type ImageJobs } from './image-jobs.ts';
import type { ImageLinks } from './image-links.ts';
import type { PlainImageRecord } from './image-records.ts';
import { answerImageStream } from './image-stream.ts';
import {
  ENDPOINT_FIELDS,
  inference,
  MAX_COST_FIELD,
  routeSelector,
  splitModel,
  takeEndpointCode,
  type DoneRequest,
} from './inference.ts';
import type { ApiAnswer, ApiOperation, ApiParts, ApiBody } from './operation.ts';

const JOB_ID = 'req_0WPlqUf4abcdefghijklmnop';

const IMAGE_JOB_BODY: ApiBody = {
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
  examples: { job: { id: JOB_ID, status: 'queued', created: 1_763_170_000 } },
};

export const IMAGE_ANSWER: ApiAnswer = {
  description: 'The images; what was delivered is what was charged',
  headers: 'paid',
  body: {
    name: 'ImageAnswer',
    schema: z.object({
      created: z.int().describe('Seconds since 1970'),
      data: z.array(
        z.object({
          url: z.string().optional().describe('A signed link that lives an hour'),
          b64_json: z.string().optional(),
          revised_prompt: z.string().optional(),
        }),
      ),
      usage: z.unknown().optional(),
    }),
    examples: {
      example: {
        created: 1_763_170_000,
        data: [{ url: 'https://host/api/public/v1/images/img_1?expires=1' }],
      },
    },
  },
  stream: {
    name: 'ImageEvent',
    chunk: z.looseObject({
      type: z.enum([
        'image_generation.partial_image',
        'image_generation.completed',
        'image_edit.partial_image',
        'image_edit.completed',
      ]),
      created_at: z.int().describe('Seconds since 1970'),
      b64_json: z.string().optional(),
      url: z.string().optional().describe('Of a finished image, where response_format is url'),
      partial_image_index: z.int().optional(),
      size: z.string(),
      quality: z.string(),
      background: z.string(),
      output_format: z.string(),
      usage: z.unknown().optional().describe('Of a finished image'),
    }),
    description:
      'With stream: true. Each data line is an ImageEvent, or an error; comment lines come in between.',
    hasErrorEvent: true,
    example:
      'event: image_generation.completed\ndata: {"type":"image_generation.completed","b64_json":"iVBORw0KGgo=",' +
      '"created_at":1763170000,"size":"1024x1024","quality":"auto","background":"auto","output_format":"png",' +
      '"usage":{"input_tokens":0,"output_tokens":0,"total_tokens":0}}\n\n',
  },
  asyncBody: IMAGE_JOB_BODY,
};

export const publicImageSchema = imageRequestSchema.extend(ENDPOINT_FIELDS);

export const imageGenerations: ApiOperation = {
  id: 'createImage',
  method: 'POST',
  path: '/api/public/v1/images/generations',
  tag: 'Inference',
  summary: 'Create images',
  token: 'required',
  idempotencyKey: true,
  respondAsync: true,
  request: {
    name: 'ImageRequest',
    schema: publicImageSchema,
    examples: {
      simple: {
        endpoint_code: 'svc_tgter',
        model: 'house-paint',
        prompt: 'a lighthouse at dusk',
        size: '512x512',
        n: 1,
      },
    },
  },
  answer: IMAGE_ANSWER,
  errors: KEYED_INFERENCE_ERRORS,
  dialect: OPENAI_ERRORS,
  handle: inference({
    rate: 'images',
    read: publicImageCall,
    answer: answerOrStart,
    restore: restoreImages,
  }),
};

export const v1ImageGenerations: ApiOperation = {
  id: 'v1CreateImage',
  method: 'POST',
  path: '/v1/images/generations',
  tag: 'OpenAI-compatible',
  summary: 'Create images (OpenAI)',
  description: 'The model is named as GET /v1/models lists it.',
  token: 'required',
  idempotencyKey: true,
  respondAsync: true,
  request: {
    name: 'V1ImageRequest',
    schema: imageRequestSchema.extend(MAX_COST_FIELD),
    examples: {
      simple: { model: 'svc_tgter/house-paint', prompt: 'a lighthouse at dusk', size: '512x512' },
    },
  },
  answer: IMAGE_ANSWER,
  errors: KEYED_INFERENCE_ERRORS,
  dialect: OPENAI_ERRORS,
  handle: inference({
    rate: 'images',
    read: (base, value, parts) => v1ImageCall(base, readImageFields(value), parts),
    answer: answerOrStart,
    restore: restoreImages,
  }),
};

export const imageByLink: ApiOperation = {
  id: 'getImage',
  method: 'GET',
  path: '/api/public/v1/images/{id}',
  tag: 'Inference',
  summary: 'Get a generated image',
  description: 'The link is in the answer that made the image: signed, for an hour, without a token.',
  token: 'none',
  parameters: [{ name: 'id', description: 'With the query that the link came with', example: 'img_1' }],
  answer: { description: 'The image', headers: 'none', untyped: { mediaType: 'image/*', schema: {} } },
  errors: [...COMMON_ERRORS, 'not_found'],
  dialect: OPENAI_ERRORS,
  handle:
    ({ links }) =>
    ({ request, requestId, parameters }) =>
      links.serve(request, requestId, parameters[0] ?? ''),
};

/** A checked image request of the public API. */
export function publicImageCall(base: CallBase, value: Record<string, unknown>): ImageCall {
  const endpoint = takeEndpointCode(value);
  const { request, knobs } = readImageFields(value);
  const { code, model } = splitModel(endpoint, request.model);
  return {
    ...base,
    selector: { code, model, type: 'image_generation' },
    label: model,
    request,
    knobs,
    cap: 'strict',
  };
}

export function v1ImageCall(base: CallBase, { request, knobs }: ImageFields, parts: ApiParts): ImageCall {
  const selector = routeSelector(parts, base, request.model, 'image_generation');
  return {
    ...base,
    selector,
    label: request.model,
    request: { ...request, response_format: request.response_format ?? usualFormat(selector.model, request) },
    knobs,
    cap: 'lowered',
  };
}

/**
 * What OpenAI's clients get without asking: of `dall-e-2` and `dall-e-3` a link, of every newer model base64, which is all
 * that these have (https://developers.openai.com/api/reference/resources/images/methods/generate, `response_format`).
 * Streams have nothing else either. The model decides, under whichever name it was asked for.
 */
function usualFormat(model: string, { stream }: AskedImages): 'url' | 'b64_json' {
  return USUALLY_LINKED.test(model) && stream !== true ? 'url' : 'b64_json';
}

const USUALLY_LINKED = /(?:^|\/)dall-e-/i;

type ImageFields = Pick<ImageCall, 'request' | 'knobs'>;

export function readImageFields(value: Record<string, unknown>): ImageFields {
  const { body, knobs } = selectFields(value, IMAGE_FIELDS);
  return { request: parseBody(imageRequestSchema, body) as AskedImages, knobs };
}

/** The images, or the job of a client that does not want to wait for them. */
export async function answerOrStart(
  call: ImageCall,
  { imageJobs, links, relay }: Pick<ApiParts, 'imageJobs' | 'relay' | 'links'>,
  incoming: IncomingRequest,
): Promise<Response> {
  const { memory } = incoming;
  if (prefersAsync(incoming.request)) {
    if (call.request.stream === true) throw streamedJob();
    return await imageJobs.start(call, incoming.requestRecord, memory);
  }
  return await answerImages(call, incoming.origin, { relay, imageJobs, links, memory });
}

/**
 * The answer of an earlier call with the same key, made again from the images that are stored. Of a stream they are in the
 * gallery, but its events are not made again.
 */
export async function restoreImages(
  { request }: ImageCall,
  { requestId, accountId }: DoneRequest,
  { imageJobs, links }: Pick<ApiParts, 'imageJobs' | 'links'>,
  { origin, request: { headers } }: IncomingRequest,
): Promise<Response | undefined> {
  if (prefersAsync({ headers })) return json(await imageJobs.find(requestId, accountId, origin), requestId);
  if (request.stream === true) return undefined;
  const images = await links.findOfRequest(accountId, requestId);
  const data: ImageResponse['data'][number][] = [];
  for (const [id, image] of images) {
    if (request.response_format !== 'b64_json') data.push({ url: links.link(id, origin) });
    else {
      const bytes = await image.bytes();
      if (bytes) data.push({ b64_json: bytes.toBase64() });
    }
  }
  return data.length === 0 ? undefined : json({ created: Math.floor(links.now() / 1000), data }, requestId);
}

/** A job is fetched later and a stream is read now, so a request cannot be both. */
function streamedJob(): Fault {
  const message = 'stream: true and Prefer: respond-async exclude each other. Send one of them.';
  return new Fault('invalid_field', message, { param: 'stream' });
}

async function relayRecorded(
  call: ImageCall,
  relay: RelayParts,
  record: PlainImageRecord,
): Promise<ImageReply> {
  try {
    return await relayImages(call, relay, record);
  } finally {
    await record.end();
  }
}

/** What it takes to answer a client that waits for its images. */
interface WaitedImageParts {
  readonly relay: RelayParts;
  readonly imageJobs: Pick<ImageJobs, 'plain'>;
  readonly links: ImageLinks;
  /** The memory of the request, which holds the call's pictures. */
  readonly memory: Pick<RequestMemory, 'keep'>;
  /** Another shape of the answer than OpenAI's. */
  readonly present?: ((answer: ImageResponse, charged: NanoUsd | undefined) => unknown) | undefined;
}

/** Runs an image call and answers in the public shape: links or base64, whichever the backend returned. */
export async function answerImages(
  call: ImageCall,
  origin: string,
  { relay, imageJobs, links, memory, present }: WaitedImageParts,
): Promise<Response> {
  const record = imageJobs.plain(call, links);
  if (call.request.stream === true)
    return await answerImageStream(call, { relay, links, origin, record, memory });
  const reply = await relayRecorded(call, relay, record);
  const { stored } = record;
  const data = reply.answer.images.map(({ bytes, revisedPrompt }, index) => {
    const { id } = stored[index] ?? {};
    return {
      ...(id === undefined
        ? { b64_json: Buffer.from(bytes).toString('base64') }
        : { url: links.link(id, origin) }),
      ...(revisedPrompt === undefined ? {} : { revised_prompt: revisedPrompt }),
    };
  });
  const body: ImageResponse = {
    created: Math.floor(links.now() / 1000),
    data,
    ...(reply.answer.usage === undefined ? {} : { usage: reply.answer.usage }),
  };
  const charged = reply.settled?.charged;
  return paidAnswer(present ? present(body, charged) : body, reply.summary, charged);
}

export const imageJob: ApiOperation = {
  id: 'getImageJob',
  method: 'GET',
  path: '/api/public/v1/images/jobs/{id}',
  tag: 'Inference',
  summary: 'Get an image job and its images',
  description:
    'Jobs are made by image requests with `Prefer: respond-async`, and can be asked for seven days after they ended.',
  token: 'required',
  parameters: [{ name: 'id', description: 'Of the answer that made the job', example: JOB_ID }],
  answer: { description: 'The job', headers: 'rate', body: IMAGE_JOB_BODY },
  errors: [...TOKEN_ERRORS, 'not_found'],
  dialect: OPENAI_ERRORS,
  handle: (parts) => (incoming) => answerJob(incoming, parts),
};

async function answerJob(
  incoming: IncomingRequest,
  { callerAuth, imageJobs, relay }: ApiParts,
): Promise<Response> {
  const snapshot = await callerAuth.account(callerAuth.caller(incoming));
  const { origin, requestId, parameters } = incoming;
  const job = await imageJobs.find(parameters[0] ?? '', snapshot.accountId, origin);
  return json(job, requestId, rateHeaders(rateOf(snapshot, 'images', relay)));
}
