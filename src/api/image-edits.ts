import { z } from 'zod';
import type { IncomingRequest } from '../http/router.ts';
import type { Caller } from '../ledger/port.ts';
import { preferTokenError } from '../relay/admission.ts';
import type { ImageCall, CallBase } from '../relay/call.ts';
import type { AccountId } from '../std/ids.ts';
import { imageRequestSchema } from '../wire/openai/images.ts';
import { findPictures, MAX_PICTURES, readEdit, type EditBody } from './edit-body.ts';
import { KEYED_INFERENCE_ERRORS, OPENAI_ERRORS } from './errors.ts';
import {
  answerOrStart,
  IMAGE_ANSWER,
  publicImageCall,
  readImageFields,
  restoreImages,
  v1ImageCall,
} from './images.ts';
import { callOf, ENDPOINT_FIELDS, MAX_COST_FIELD, work } from './inference.ts';
import type { ApiOperation, ApiParts } from './operation.ts';

const upload = z.string().meta({ contentMediaType: 'application/octet-stream' });

/** The fields as sent in a form; they are then checked by the schema of a generation. */
const formPictures = {
  image: z
    .union([upload, z.array(upload).min(1).max(MAX_PICTURES)])
    .describe('The images to start from; image[] is the same field'),
  mask: upload.optional(),
};

const picture = z.string().describe('A data URL, or the address of an image of your gallery');
const pictureObject = z.object({ image_url: picture });

const jsonPictures = {
  image: z.union([picture, z.array(picture).min(1).max(MAX_PICTURES)]).optional(),
  images: z
    .array(pictureObject)
    .max(MAX_PICTURES)
    .optional()
    .describe("The same in the form of OpenAI's API; one of the two is needed"),
  mask: z.union([picture, pictureObject]).optional(),
};

const EXAMPLE = { prompt: 'the same gate in winter', image: 'data:image/png;base64,iVBORw0KGgo=' };

/** An edit is a generation with input images. */
export const imageEdits: ApiOperation = {
  id: 'editImage',
  method: 'POST',
  path: '/api/public/v1/images/edits',
  tag: 'Inference',
  summary: 'Edit images',
  description:
    'As a form, or as JSON with data URLs or addresses of images of your own gallery. Nothing is fetched from elsewhere.',
  token: 'required',
  idempotencyKey: true,
  respondAsync: true,
  request: {
    name: 'ImageEditForm',
    schema: imageRequestSchema.extend({ ...ENDPOINT_FIELDS, ...formPictures }),
    examples: {},
    mediaType: 'multipart/form-data',
    or: {
      name: 'ImageEditRequest',
      schema: imageRequestSchema.extend({ ...ENDPOINT_FIELDS, ...jsonPictures }),
      examples: { simple: { endpoint: 'svc_tgter', model: 'house-paint', ...EXAMPLE } },
    },
  },
  answer: IMAGE_ANSWER,
  errors: KEYED_INFERENCE_ERRORS,
  dialect: OPENAI_ERRORS,
  handle: work((incoming, caller, parts) => edit({ incoming, caller }, parts, publicImageCall)),
};

export const v1ImageEdits: ApiOperation = {
  id: 'v1EditImage',
  method: 'POST',
  path: '/v1/images/edits',
  tag: 'OpenAI-compatible',
  summary: 'Edit images (OpenAI)',
  description: 'The model is named as GET /v1/models lists it. A form, or JSON.',
  token: 'required',
  idempotencyKey: true,
  respondAsync: true,
  request: {
    name: 'ImageForm',
    schema: imageRequestSchema.extend({ ...MAX_COST_FIELD, ...formPictures }),
    examples: {},
    mediaType: 'multipart/form-data',
    or: {
      name: 'V1ImageEditRequest',
      schema: imageRequestSchema.extend({ ...MAX_COST_FIELD, ...jsonPictures }),
      examples: { simple: { model: 'svc_tgter/house-paint', ...EXAMPLE } },
    },
  },
  answer: IMAGE_ANSWER,
  errors: KEYED_INFERENCE_ERRORS,
  dialect: OPENAI_ERRORS,
  handle: work((incoming, caller, parts) =>
    edit({ incoming, caller }, parts, (base, value) => v1ImageCall(base, readImageFields(value), parts)),
  ),
};

/** What differs between the operations that take pictures. */
interface PictureSteps {
  /** The body with its pictures taken out. */
  readBody(incoming: IncomingRequest): Promise<EditBody>;
  /** The call of what is left of it. */
  read(base: CallBase, value: Record<string, unknown>): ImageCall;
  answer(call: ImageCall): Promise<Response>;
}

interface Sender {
  readonly incoming: IncomingRequest;
  readonly caller: Caller;
}

function edit(sender: Sender, parts: ApiParts, read: PictureSteps['read']): Promise<Response> {
  const answer = (call: ImageCall) => answerOrStart(call, parts, sender.incoming);
  return answerWithPictures(sender, parts, { readBody: readEdit, read, answer });
}

export async function answerWithPictures(
  { incoming, caller }: Sender,
  parts: ApiParts,
  steps: PictureSteps,
): Promise<Response> {
  const { callerAuth, idempotency, links, relay } = parts;
  const { origin, memory } = incoming;
  const { call, text } = await preferTokenError({ caller, rate: 'images' }, relay, async () => {
    const body = await steps.readBody(incoming);
    const plain = steps.read(callOf(incoming, caller, body), body.value);
    let account: ReturnType<typeof callerAuth.account> | undefined;
    const accountId = async () => (await (account ??= callerAuth.account(caller))).accountId;
    const pictures = await findPictures(body, { links, origin, accountId, memory });
    return { call: { ...plain, request: { ...plain.request, ...pictures } }, text: body.text };
  });
  const restore = (requestId: string, accountId: AccountId) =>
    restoreImages(call, { requestId, accountId }, parts, incoming);
  return await idempotency.run(incoming, { caller, text, restore }, (keyed) =>
    // A call with a key continues when its client leaves.
    steps.answer(keyed ? { ...call, ...keyed } : call),
  );
}
