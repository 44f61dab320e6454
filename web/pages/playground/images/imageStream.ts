import type { ErrorBody, PlaygroundReceipt } from '../../../../src/console/contract.ts';
import { urlOf } from '../../../lib/api.ts';
import { readEvents } from '../../../lib/eventStream.ts';
import type { ImageBody } from './order.ts';

export type ImagePart =
  /** Known as soon as there is an answer, also of a refusal. */
  | { readonly kind: 'begun'; readonly requestId: string }
  /** What an unfinished image looks like. */
  | { readonly kind: 'preview'; readonly src: string }
  | { readonly kind: 'image'; readonly src: string; readonly mime: string }
  | { readonly kind: 'failed'; readonly status: number; readonly message: string }
  | { readonly kind: 'receipt'; readonly receipt: PlaygroundReceipt };

/** A preview is a whole picture in one event. */
const MAX_EVENT_CHARACTERS = 40_000_000;

interface ImageEvent {
  readonly type: string;
  readonly b64_json?: string;
  readonly url?: string;
  readonly output_format?: string;
}

/** The images of one request as they come. It runs on the session; no token is in the browser. */
export async function* streamImages(body: ImageBody): AsyncGenerator<ImagePart> {
  const response = await fetch(urlOf('POST /api/console/playground/images'), {
    method: 'POST',
    credentials: 'same-origin',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, stream: true }),
  });
  const requestId = response.headers.get('x-request-id');
  if (requestId) yield { kind: 'begun', requestId };
  if (!response.ok || !response.body) {
    const { status } = response;
    yield { kind: 'failed', status, message: await messageOf(response) };
    return;
  }
  for await (const { event, data } of readEvents(response.body, MAX_EVENT_CHARACTERS)) {
    const message: unknown = JSON.parse(data);
    // The event's name tells which of the messages this is.
    if (event === 'tollgate') yield { kind: 'receipt', receipt: message as PlaygroundReceipt };
    else if (event === 'error')
      yield { kind: 'failed', status: 500, message: (message as ErrorBody).error.message };
    else yield pictureOf(message as ImageEvent);
  }
}

function pictureOf({ type, b64_json, url, output_format = 'png' }: ImageEvent): ImagePart {
  const mime = `image/${output_format}`;
  const src = url === undefined ? `data:${mime};base64,${b64_json ?? ''}` : ownPath(url);
  return type.endsWith('.partial_image') ? { kind: 'preview', src } : { kind: 'image', src, mime };
}

/** The link lives for an hour, the path as long as the image. */
function ownPath(url: string): string {
  const [, id] = /\/images\/(img_\w+)/.exec(url) ?? [];
  return id === undefined ? url : `/api/console/images/${id}`;
}

async function messageOf(response: Response): Promise<string> {
  try {
    return ((await response.json()) as ErrorBody).error.message;
  } catch {
    return `The server answered ${response.status}.`;
  }
}
