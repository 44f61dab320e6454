import { PIXEL_BASE64 } from '../support/scripted-backend.ts';
import { moderation, moderationRefusal } from './openai-moderation.ts';
import { chatModel, chatRefusal, imageRefusal, isGptImage } from './openai-rules.ts';
import { openAiError, openAiWire } from './openai-wire.ts';
import {
  bearerKey,
  StandIn,
  textOf,
  type ProviderWire,
  type Fields,
  type ImageBill,
  type Refusal,
  type StandInBooks,
  type StandInCall,
} from './stand-in.ts';

const REASONING_TOKENS = 48;

/**
 * OpenAI's API over real HTTP, as strict as its reference (`openai-rules.ts`): what the reference refuses is refused
 * here, and what is answered stands on an invoice of its own.
 */
export class StrictOpenAi extends StandIn {
  constructor(deployments?: Readonly<Record<string, string>>) {
    super(openAi(deployments), deployments);
  }
}

/** Chats as `openai-wire.ts`, and images beside them. */
function openAi(deployments: Readonly<Record<string, string>> = {}): ProviderWire {
  return {
    ...openAiWire({
      path: '/v1',
      reasoningTokens: REASONING_TOKENS,
      answers: { usage: 'if_asked', more: { service_tier: 'default' } },
      thinks: ({ model }) => chatModel(model)?.reasoning === true,
      refusal: ({ body, model }) => chatRefusal({ ...body, model }),
      error: openAiError,
    }),
    other: async (call, books) => {
      const { pathname: path } = call.url;
      if (path === FILE_PATH) return pictureFile();
      if (path === MODERATIONS && !bearerKey(call)) return await answerModeration(call, books);
      if (path === '/v1/models' && !bearerKey(call)) return Response.json({ object: 'list', data: [] });
      if (!Object.hasOwn(IMAGE_OPERATIONS, path) || bearerKey(call)) return undefined;
      return await answerImages(call, books, deployments);
    },
  };
}

const MODERATIONS = '/v1/moderations';

/** Free of charge: nothing of it is on the invoice. */
async function answerModeration({ request }: StandInCall, books: StandInBooks): Promise<Response> {
  const body = (await request.json()) as Fields;
  const refusal = moderationRefusal(body);
  books.received.push({ path: MODERATIONS, body, refusal });
  return refusal
    ? Response.json(openAiError(refusal), { status: refusal.status })
    : Response.json(moderation(body));
}

async function answerImages(
  { request, url }: StandInCall,
  books: StandInBooks,
  deployments: Readonly<Record<string, string>>,
): Promise<Response> {
  const { read, refusal } = IMAGE_OPERATIONS[url.pathname as keyof typeof IMAGE_OPERATIONS];
  const sent = await read(request);
  const body: Fields = { ...sent, model: deployments[textOf(sent['model'])] ?? sent['model'] };
  const refused = refusal(body);
  books.received.push({ path: url.pathname, body: sent, refusal: refused });
  if (refused) return Response.json(openAiError(refused), { status: refused.status });
  const isStream = body['stream'] === true || body['stream'] === 'true';
  return isStream ? imageStream(body, url.pathname.endsWith('edits'), books) : images(body, books);
}

const IMAGE_OPERATIONS = {
  '/v1/images/generations': {
    read: async (request: Request) => (await request.json()) as Fields,
    refusal: (body: Fields) => imageRefusal(body, 'generation'),
  },
  '/v1/images/edits': { read: readForm, refusal: editRefusal },
} as const;

async function readForm(request: Request): Promise<Fields> {
  const form = await request.formData();
  return Object.fromEntries([...form.keys()].map((key) => [key, form.get(key)]));
}

function editRefusal(body: Fields): Refusal | undefined {
  const refusal = imageRefusal(body, 'edit');
  if (refusal) return refusal;
  const picture = body['image'] ?? body['image[]'];
  if (picture instanceof Blob && picture.size > 0) return undefined;
  return { status: 400, code: 'missing_required_parameter', param: 'image', message: 'Missing: image.' };
}

const FILE_PATH = '/files/picture.png';

function images(body: Fields, { invoice, base }: StandInBooks): Response {
  const model = textOf(body['model']);
  const count = Number(body['n'] ?? 1);
  const size = textOf(body['size'] ?? '1024x1024');
  const bill: ImageBill = { kind: 'images', model, images: count, size };
  invoice.push(bill);
  const inline = isGptImage(model) || body['response_format'] === 'b64_json';
  const one = {
    ...(inline ? { b64_json: PIXEL_BASE64 } : { url: new URL(FILE_PATH, base).href }),
    ...(model === 'dall-e-3' ? { revised_prompt: `${textOf(body['prompt'])}, in detail` } : {}),
  };
  const usage = { input_tokens: 9, output_tokens: 1056, total_tokens: 1065 };
  return Response.json({
    created: 1_741_569_952,
    data: Array.from({ length: count }, () => one),
    ...(isGptImage(model) ? { output_format: 'png', quality: 'high', size, usage } : {}),
  });
}

/**
 * The events of the reference (https://developers.openai.com/api/reference/resources/images/generation-streaming-events):
 * each image shows its partial ones before it is completed, and has a usage of its own.
 */
function imageStream(body: Fields, isEdit: boolean, { invoice }: StandInBooks): Response {
  const size = textOf(body['size'] ?? '1024x1024');
  const [count, partials] = [Number(body['n'] ?? 1), Number(body['partial_images'] ?? 0)];
  invoice.push({
    kind: 'images',
    model: textOf(body['model']),
    images: count,
    size,
    partials: count * partials,
  });
  const common = {
    b64_json: PIXEL_BASE64,
    created_at: 1_741_569_952,
    size,
    quality: 'high',
    background: 'opaque',
  };
  const event = (name: string, fields: object): string => {
    const type = `image_${isEdit ? 'edit' : 'generation'}.${name}`;
    return `event: ${type}\ndata: ${JSON.stringify({ type, ...common, output_format: 'png', ...fields })}\n\n`;
  };
  const output = 1056 + 100 * partials;
  const details = { image_tokens: 0, text_tokens: 9 };
  const usage = {
    input_tokens: 9,
    output_tokens: output,
    total_tokens: 9 + output,
    input_tokens_details: details,
  };
  const events = Array.from({ length: count }, () => [
    ...Array.from({ length: partials }, (_, index) => event('partial_image', { partial_image_index: index })),
    event('completed', { usage }),
  ]);
  return new Response(events.flat().join(''), { headers: { 'content-type': 'text/event-stream' } });
}

function pictureFile(): Response {
  return new Response(Buffer.from(PIXEL_BASE64, 'base64'), { headers: { 'content-type': 'image/png' } });
}
