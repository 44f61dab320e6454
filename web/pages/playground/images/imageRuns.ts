import { useSyncExternalStore } from 'react';
import type { ErrorBody } from '../../../../src/console/contract.ts';
import type { ModelItem, PlaygroundReceipt } from '../../../lib/answers.ts';
import { ApiError, fetchRoute } from '../../../lib/api.ts';
import { settledReceipt } from '../../../lib/chatStream.ts';
import { readEvents } from '../../../lib/eventStream.ts';
import { makeStore } from '../../../lib/store.ts';
import { BALANCE_READS, currentWallet } from '../../../lib/wallet.ts';
import { imageFileName } from '../../images/fileName.ts';
import type { Picture } from '../../images/Lightbox.tsx';
import { withSeed, type ImageBody } from './order.ts';
import { answerError, type AnswerError } from '../refusal.ts';
import type { Reference } from './references.ts';

/** One request for images, from the click to its receipt. */
export interface ImageRun {
  readonly id: number;
  readonly modelName: string;
  /** The body as it was sent, with the seed but without the pictures. */
  readonly body: ImageBody;
  readonly references: readonly Reference[];
  readonly mask: string | undefined;
  readonly state: 'running' | 'done' | 'failed';
  readonly startedAt: number;
  readonly preview: string | undefined;
  readonly pictures: readonly Picture[];
  readonly receipt: PlaygroundReceipt | undefined;
  readonly error: RunError | undefined;
}

export interface RunError extends AnswerError {
  readonly requestId: string | undefined;
}

export interface ImageOrder {
  readonly model: ModelItem;
  readonly body: ImageBody;
  readonly references: readonly Reference[];
  readonly mask: string | undefined;
}

/** Queries to refetch when images have been made. */
export const CHANGED_BY_IMAGES = [
  'GET /api/console/images',
  'GET /api/console/image-facets',
  ...BALANCE_READS,
] as const;

const MOST_KEPT = 30;
let nextId = 1;

/** Runs survive leaving the page, so that images made in the meantime are there on return. */
const store = makeStore<{ readonly runs: readonly ImageRun[] }>({ runs: [] });
let onEnded: () => void = () => undefined;

export function useImageRuns(): readonly ImageRun[] {
  return useSyncExternalStore(store.subscribe, store.get).runs;
}

/** Called after each run, so that lists and balances are read again. */
export function onRunEnded(listener: () => void): void {
  onEnded = listener;
}

export function startRun({ model, body, references, mask }: ImageOrder): number {
  const run: ImageRun = {
    id: nextId++,
    modelName: model.displayName,
    body: withSeed(body, model),
    references,
    mask,
    state: 'running',
    startedAt: Date.now(),
    preview: undefined,
    pictures: [],
    receipt: undefined,
    error: undefined,
  };
  store.change({ runs: [run, ...store.get().runs].slice(0, MOST_KEPT) });
  void follow(run);
  return run.id;
}

export function forgetRun(id: number): void {
  store.change({ runs: store.get().runs.filter((run) => run.id !== id) });
}

/** The body with its pictures, as the API takes it. */
export function sentBody({
  body,
  references,
  mask,
}: Pick<ImageRun, 'body' | 'references' | 'mask'>): ImageBody {
  if (references.length === 0) return body;
  return { ...body, image: references.map(({ src }) => src), ...(mask === undefined ? {} : { mask }) };
}

function patch(id: number, update: (run: ImageRun) => ImageRun): void {
  store.change({ runs: store.get().runs.map((run) => (run.id === id ? update(run) : run)) });
}

async function follow(run: ImageRun): Promise<void> {
  let requestId: string | undefined;
  try {
    for await (const part of streamImages(sentBody(run))) {
      if (part.kind === 'begun') ({ requestId } = part);
      else patch(run.id, (before) => withPart(before, part, requestId));
    }
    patch(run.id, (before) => ({ ...before, state: before.error ? 'failed' : 'done', preview: undefined }));
  } catch (failure) {
    if (failure instanceof ApiError) requestId ??= failure.requestId;
    const error = { ...answerError(failure), requestId };
    patch(run.id, (before) => ({ ...before, state: 'failed', error, preview: undefined }));
  }
  await addReceipt(run.id, requestId);
  onEnded();
}

type ImagePart =
  /** Known as soon as there is an answer, even an error. */
  | { readonly kind: 'begun'; readonly requestId: string }
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

/** The images of one request as they come. The session authenticates it, so the browser needs no token. */
async function* streamImages(body: ImageBody): AsyncGenerator<ImagePart> {
  const response = await fetchRoute('POST /api/console/playground/images', {
    query: { wallet: currentWallet() },
    body: { ...body, stream: true },
  });
  const requestId = response.headers.get('x-request-id');
  if (requestId) yield { kind: 'begun', requestId };
  if (!response.body) throw new ApiError(response.status, 'internal_error', 'The answer has no body.');
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

/** The link expires after an hour; the path is valid as long as the image exists. */
function ownPath(url: string): string {
  const [, id] = /\/images\/(img_\w+)/.exec(url) ?? [];
  return id === undefined ? url : `/api/console/images/${id}`;
}

/** If money was held, a failure before the first byte has a receipt too, which says that nothing was charged. */
async function addReceipt(id: number, requestId: string | undefined): Promise<void> {
  const run = store.get().runs.find((one) => one.id === id);
  if (!requestId || run?.state !== 'failed' || run.receipt || (run.error?.status ?? 0) < 500) return;
  const receipt = await settledReceipt(requestId);
  if (receipt) patch(id, (before) => ({ ...before, receipt }));
}

function withPart(
  run: ImageRun,
  part: Exclude<ImagePart, { kind: 'begun' }>,
  requestId: string | undefined,
): ImageRun {
  switch (part.kind) {
    case 'preview':
      return { ...run, preview: part.src };
    case 'image': {
      const { prompt } = run.body;
      const id = part.src.split('/').at(-1)?.slice(-40) ?? '';
      const fileName = imageFileName(prompt, id, part.mime);
      const picture = { key: `${run.id}-${run.pictures.length}`, src: part.src, prompt, fileName };
      return { ...run, preview: undefined, pictures: [...run.pictures, picture] };
    }
    case 'failed':
      return { ...run, error: { message: part.message, status: part.status, requestId } };
    case 'receipt':
      return { ...run, receipt: part.receipt };
    default:
      return part satisfies never;
  }
}
