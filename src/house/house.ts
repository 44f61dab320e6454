import type { UpstreamConfig } from '../catalog/catalog.ts';
import type { Clock } from '../std/clock.ts';
import {
  UpstreamFailure,
  type ChatAnswer,
  type UpstreamChatCall,
  type GeneratedImage,
  type ImageAnswer,
  type ImageEvent,
  type UpstreamImageCall,
  type UpstreamImageStreamCall,
  type Upstream,
} from '../upstream/port.ts';
import { produceAnswer } from './answer.ts';
import { promptText } from './conversation.ts';
import { echo } from './echo.ts';
import { guide } from './guide.ts';
import { abortFailure } from './pacing.ts';
import { PaintPool } from './paint-pool.ts';
import type { PaintOrder } from './paint/brief.ts';
import type { Painting } from './paint/paint.ts';

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
    yield { kind: 'completed', image: asImage(await pool.paint(order, call.signal)) };
  }
}

function asImage({ png, description }: Painting): GeneratedImage {
  return { bytes: png, mime: 'image/png', revisedPrompt: description };
}

function ordersOf(call: UpstreamImageCall): PaintOrder[] {
  if (call.model !== 'house-paint') throw unknownModel(call.model, 'paint with house-paint');
  const { prompt, n, style, seed, negative_prompt: avoid, output_format: format } = call.request;
  if (format !== undefined && format !== 'png')
    throw rejected(`house-paint makes PNG files only, not '${format}'.`);
  const size = sizeOf(call.size);
  const order = { prompt, style, seed, avoid, ...size };
  return Array.from({ length: n ?? 1 }, (_, index) => ({ ...order, index }));
}

async function images(call: UpstreamImageCall, pool: PaintPool): Promise<ImageAnswer> {
  const orders = ordersOf(call);
  const stop = new AbortController();
  const signal = AbortSignal.any([call.signal, stop.signal]);
  try {
    const paintings = await Promise.all(orders.map((order) => pool.paint(order, signal)));
    return { images: paintings.map(asImage) };
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

function rejected(publicMessage: string): UpstreamFailure {
  return new UpstreamFailure('rejected', publicMessage, { status: 400, publicMessage });
}
