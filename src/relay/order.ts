import { resolve, type Route, priceFor } from '../catalog/catalog.ts';
import type { Ceiling } from '../ledger/port.ts';
import type { Price } from '../ledger/price.ts';
import { Fault } from '../std/fault.ts';
import type { ChatRequest } from '../wire/openai/chat.ts';
import type { Call, ChatCall, ImageCall, RelayParts } from './call.ts';
import { inputCeiling } from './ceiling.ts';

/** What the client asked for, found in the catalog, with its worst case and its price. */
export interface Order {
  readonly route: Route;
  readonly price: Price;
  readonly ceiling: Ceiling;
}

export interface ImageOrder extends Order {
  readonly size: string;
  readonly count: number;
}

/** When the client sets no cap. */
const DEFAULT_OUTPUT = 16_384;

export function readChatOrder(call: ChatCall, parts: RelayParts): Order {
  const catalog = parts.catalog();
  const route = resolve(catalog, call.selector);
  const ceiling: Ceiling = {
    kind: 'tokens',
    input: inputCeiling(call.request, call.size, route.model.contextTokens),
    output: outputCap(call, route.model.maxOutput),
    choices: call.request.n ?? 1,
  };
  return { route, ceiling, price: priceFor(route.model) };
}

export function readImageOrder(call: ImageCall, parts: RelayParts): ImageOrder {
  const route = resolve(parts.catalog(), call.selector);
  const size = imageSize(call, route);
  const count = call.request.n ?? 1;
  return {
    route,
    size,
    count,
    ceiling: { kind: 'images', images: count },
    price: priceFor(route.model, size),
  };
}

/** The request as the backend gets it: the cap that the hold covers is always in it, so that the bound is true. */
export function withCap(request: ChatRequest, output: number): ChatRequest {
  // `undefined` is not printed, and cheaper than leaving a field out of the copy.
  return request.max_completion_tokens === undefined
    ? { ...request, max_tokens: output }
    : { ...request, max_tokens: undefined, max_completion_tokens: output };
}

function outputCap(call: Call<ChatRequest>, maxOutput: number): number {
  const { max_completion_tokens: newer, max_tokens: older } = call.request;
  const asked = newer ?? older;
  if (asked === undefined) return Math.min(maxOutput, DEFAULT_OUTPUT);
  if (asked > maxOutput && call.cap === 'strict') {
    const param = newer === undefined ? 'max_tokens' : 'max_completion_tokens';
    throw new Fault('invalid_field', `${param} must be at most ${maxOutput} for this model.`, { param });
  }
  return Math.min(asked, maxOutput);
}

function imageSize(call: ImageCall, { model }: Route): string {
  const wanted = call.request.size;
  const size = wanted === undefined || wanted === 'auto' ? model.sizes[0] : wanted;
  if (size !== undefined && model.sizes.includes(size)) return size;
  throw new Fault('invalid_field', `size must be one of ${model.sizes.join(', ')}.`, { param: 'size' });
}
