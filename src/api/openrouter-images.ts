import { z } from 'zod';
import type { IncomingRequest } from '../http/router.ts';
import { Fault } from '../std/fault.ts';
import { formatUsd, type NanoUsd } from '../std/money.ts';
import { imageRequestSchema, type ImageResponse } from '../wire/openai/images.ts';
import { memberOf } from '../wire/field-table.ts';
import { MAX_PICTURES, takePictures, type EditBody } from './edit-body.ts';
import { KEYED_INFERENCE_ERRORS, OPENAI_ERRORS } from './errors.ts';
import { answerWithPictures } from './image-edits.ts';
import { answerImages, IMAGE_ANSWER, readImageFields, v1ImageCall } from './images.ts';
import { MAX_COST_FIELD, work } from './inference.ts';
import type { ApiOperation } from './operation.ts';

const openRouterImages = z.object({
  created: z.int().describe('Seconds since 1970'),
  data: z.array(z.object({ b64_json: z.string(), revised_prompt: z.string().optional() })),
  usage: z
    .object({
      prompt_tokens: z.int(),
      completion_tokens: z.int(),
      total_tokens: z.int(),
      cost: z.number().optional().describe('What the request cost, in US dollars'),
    })
    .optional(),
});

const { asyncBody: _, ...WAITED_ANSWER } = IMAGE_ANSWER;

/** Images in the form of OpenRouter, whose clients know no other: always base64, with pictures to start from beside the prompt. */
export const v1Images: ApiOperation = {
  id: 'v1CreateOpenRouterImage',
  method: 'POST',
  path: '/v1/images',
  tag: 'OpenAI-compatible',
  summary: 'Create or edit images (OpenRouter)',
  description:
    'The model is named as GET /v1/models lists it. With input_references the images start from others: data URLs, or addresses of images of your own gallery.',
  token: 'required',
  idempotencyKey: true,
  request: {
    name: 'OpenRouterImageRequest',
    schema: imageRequestSchema.omit({ response_format: true }).extend({
      ...MAX_COST_FIELD,
      input_references: z
        .array(z.looseObject({ type: z.literal('image_url'), image_url: z.looseObject({ url: z.string() }) }))
        .max(MAX_PICTURES)
        .nullish()
        .describe('The images to start from'),
    }),
    examples: { simple: { model: 'svc_tgter/house-paint', prompt: 'a lighthouse at dusk', size: '512x512' } },
  },
  answer: {
    ...WAITED_ANSWER,
    body: {
      name: 'OpenRouterImages',
      schema: openRouterImages,
      examples: {
        example: {
          created: 1_763_170_000,
          data: [{ b64_json: 'iVBORw0KGgo=' }],
          usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, cost: 0.01 },
        },
      },
    },
  },
  errors: KEYED_INFERENCE_ERRORS,
  dialect: OPENAI_ERRORS,
  handle: work((incoming, caller, parts) =>
    answerWithPictures({ incoming, caller }, parts, {
      readBody: readReferences,
      read: (base, value) =>
        v1ImageCall(base, readImageFields({ ...value, response_format: 'b64_json' }), parts),
      answer: (call) =>
        answerImages(call, incoming.origin, { ...parts, memory: incoming.memory, present: asOpenRouter }),
    }),
  ),
};

async function readReferences({ body }: IncomingRequest): Promise<EditBody> {
  const { value, text, size } = await body.json();
  const { input_references: references, ...rest } = value;
  const images = referencesOf(references).map((one) => ({
    image_url: memberOf(memberOf(one, 'image_url'), 'url'),
  }));
  return { ...takePictures({ ...rest, images }), text, size };
}

function referencesOf(references: unknown): readonly unknown[] {
  if (references === undefined || references === null) return [];
  if (Array.isArray(references)) return references;
  throw new Fault('invalid_field', 'input_references must be a list.', { param: 'input_references' });
}

/** Tokens under the names of a chat, as its clients check them, and the cost. */
function asOpenRouter(answer: ImageResponse, charged: NanoUsd | undefined): z.infer<typeof openRouterImages> {
  const { created, data, usage } = answer;
  const tokens = (name: string): number => {
    const count = memberOf(usage, name);
    return typeof count === 'number' ? count : 0;
  };
  return {
    created,
    data: data.map(({ b64_json = '', revised_prompt }) => ({ b64_json, revised_prompt })),
    usage: {
      prompt_tokens: tokens('input_tokens'),
      completion_tokens: tokens('output_tokens'),
      total_tokens: tokens('total_tokens'),
      ...(charged !== undefined && { cost: Number(formatUsd(charged)) }),
    },
  };
}
