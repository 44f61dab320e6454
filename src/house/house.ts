import type { UpstreamConfig } from '../catalog/catalog.ts';
import type { Clock } from '../std/clock.ts';
import type {
  UpstreamFailure,
  ChatAnswer,
  UpstreamChatCall,
  GeneratedImage,
  ImageAnswer,
  ImageEvent,
  UpstreamImageCall,
  UpstreamImageStreamCall,
  Upstream,
} from '../upstream/port.ts';
import type { ImageRequest } from '../wire/openai/images.ts';
import { produceAnswer } from './answer.ts';
import { promptText } from './conversation.ts';
import { echo } from './echo.ts';
import { guide } from './guide.ts';
import { abortFailure } from './pacing.ts';
import { PaintPool, refusedField as rejected } from './paint-pool.ts';
import type { PaintedFile } from './paint-worker.ts';
import type { PaintOrder, PaintQuality } from './paint/brief.ts';

/**
 * The built-in backend, which needs no key. `house-guide` answers from Tollgate's own guides, `house-echo` behaves as
 * tests and tours need it, `house-paint` generates images.
 */
export function makeHouse(
  config: UpstreamConfig,
  { clock, pool = sharedPool }: { clock: Clock; pool?: PaintPool },
): Upstream & Required<Pick<Upstream, 'streamImages'>> {
  return {
    name: config.name,
    chat: (call) => chat(call, { nowS: Math.floor(clock.now() / 1000), idleMs: config.timeouts.idleMs }),
    images: (call) => images(call, pool),
    streamImages: (call) => Promise.resolve(paintStream(call, pool)),
    check: () => Promise.resolve({ ok: true, detail: 'built in', latencyMs: 0 }),
  };
}

/** One pool per process: a reloaded catalog makes new upstreams, which must not multiply the threads. */
const sharedPool = new PaintPool();

/** The house models work on the thread that serves requests; this much takes them about 20 ms. */
export const MAX_PROMPT_CHARACTERS = 1_000_000;

/** House-guide's pace: fast, but visibly streamed. */
const GUIDE_PAUSE_MS = 5;

async function chat(call: UpstreamChatCall, context: { nowS: number; idleMs: number }): Promise<ChatAnswer> {
  if (call.signal.aborted) throw abortFailure(call.signal);
  if (promptText(call.request).length > MAX_PROMPT_CHARACTERS)
    throw rejected(
      `The prompt is too long for ${call.model}, which reads ${MAX_PROMPT_CHARACTERS} characters.`,
    );
  const common = { call, createdS: context.nowS, idleMs: context.idleMs };
  switch (call.model) {
    case 'house-guide': {
      const pauseMs = call.request.stream === true ? GUIDE_PAUSE_MS : 0;
      return produceAnswer({ ...common, reply: guide(call.request), delivery: { pauseMs } });
    }
    case 'house-echo':
      return produceAnswer({ ...common, ...echo(call.request) });
    default:
      throw unknownModel(call.model, 'chat with house-guide or house-echo');
  }
}

/** How coarse the pictures are that are shown before an image is finished, from the last one back. */
const COARSENESS = [4, 8, 16] as const;

async function* paintStream(call: UpstreamImageStreamCall, pool: PaintPool): AsyncGenerator<ImageEvent> {
  const shown = COARSENESS.slice(0, call.partialImages).toReversed();
  for (const order of ordersOf(call)) {
    for (const [index, coarseness] of shown.entries())
      yield {
        kind: 'partial',
        index,
        image: asImage(await pool.paint({ ...order, coarseness }, call.signal)),
      };
    const image = asImage(await pool.paint(order, call.signal));
    yield { kind: 'completed', image, quality: qualityOf(call.request) };
  }
}

function asImage({ bytes, mime, description }: PaintedFile): GeneratedImage {
  return { bytes, mime, revisedPrompt: description };
}

function ordersOf(call: UpstreamImageCall): PaintOrder[] {
  if (call.model !== 'house-paint') throw unknownModel(call.model, 'paint with house-paint');
  const { request } = call;
  const { prompt, n, style, seed, negative_prompt: avoid, image, mask } = request;
  const order = {
    prompt,
    style,
    seed,
    avoid,
    ...sizeOf(call.size),
    ...fileOf(request),
    quality: qualityOf(request),
    pictures: image?.map(({ bytes }) => bytes),
    mask: mask?.bytes,
  };
  return Array.from({ length: n ?? 1 }, (_, index) => ({ ...order, index }));
}

/** The catalog's entry lists these too, so that a request is refused before anything is held; another catalog may not. */
const FORMATS = ['png', 'jpeg', 'webp'] as const;
const BACKGROUNDS = ['auto', 'opaque', 'transparent'] as const;
const QUALITIES = ['low', 'medium', 'high'] as const;

function fileOf({ output_format, output_compression: compression, background }: ImageRequest) {
  const format = oneOf('output_format', FORMATS, output_format) ?? 'png';
  const behind = oneOf('background', BACKGROUNDS, background);
  if (format === 'jpeg' && behind === 'transparent')
    throw rejected('background must not be transparent in a JPEG; use png or webp.', 'background');
  if (format === 'png' && compression !== undefined && compression !== 100)
    throw rejected('output_compression is for jpeg and webp; a PNG has none but 100.', 'output_compression');
  return { format, compression, background: behind };
}

/** The quality that `auto` stands for. */
function qualityOf({ quality }: ImageRequest): PaintQuality {
  return quality === 'auto' ? 'high' : (oneOf('quality', QUALITIES, quality) ?? 'high');
}

function oneOf<T extends string>(
  field: string,
  known: readonly T[],
  given: string | undefined,
): T | undefined {
  const found = known.find((value) => value === given);
  if (found === undefined && given !== undefined)
    throw rejected(`${field} must be one of ${known.join(', ')}.`, field);
  return found;
}

async function images(call: UpstreamImageCall, pool: PaintPool): Promise<ImageAnswer> {
  const orders = ordersOf(call);
  const stop = new AbortController();
  const signal = AbortSignal.any([call.signal, stop.signal]);
  try {
    const paintings = await Promise.all(orders.map((order) => pool.paint(order, signal)));
    return { images: paintings.map(asImage), quality: qualityOf(call.request) };
  } catch (thrown) {
    // One failed image fails the request, so the others are not needed.
    stop.abort();
    throw thrown;
  }
}

const SMALLEST_SIDE = 16;
const LARGEST_SIDE = 2048;

function sizeOf(size: string): { width: number; height: number } {
  const match = /^(\d{1,5})x(\d{1,5})$/.exec(size);
  const width = Number(match?.[1]);
  const height = Number(match?.[2]);
  if (!fits(width) || !fits(height)) {
    throw rejected(
      `house-paint paints from ${SMALLEST_SIDE}x${SMALLEST_SIDE} to ${LARGEST_SIDE}x${LARGEST_SIDE}, not '${size}'.`,
    );
  }
  return { width, height };
}

function fits(side: number): boolean {
  return side >= SMALLEST_SIDE && side <= LARGEST_SIDE;
}

function unknownModel(model: string, instead: string): UpstreamFailure {
  return rejected(`The built-in backend has no such model '${model}' here: ${instead}.`);
}
