import { z } from 'zod';
import { NO_USAGE } from '../ledger/price.ts';
import type { RequestId } from '../std/ids.ts';
import { usd } from './amounts.ts';
import { MEGABYTE } from './body.ts';
import type { PlaygroundImages, PlaygroundMessage, PlaygroundQuote, PlaygroundReceipt } from './contract.ts';
import type { ClosedCall, PlaygroundCall } from './playground-relay.ts';
import { route, type RouteCall, type RouteName } from './route.ts';

const text = (max: number) => z.string().min(1).max(max);
/** Only what selects the route is looked at here; the rest is the relay's to check, as for the public API. */
const chatSchema = z.looseObject({
  endpoint: text(100),
  model: text(256),
  messages: z.array(z.custom<PlaygroundMessage>()).min(1),
});
/** The body of a chat or of an image request. */
const quoteSchema = z.looseObject({ endpoint: text(100), model: text(256) });
const imageSchema = z.strictObject({
  endpoint: text(100),
  model: text(256),
  prompt: text(32_000),
  n: z.number().int().optional(),
  size: z.string().max(20).optional(),
  quality: z.string().max(64).optional(),
  style: z.string().max(64).optional(),
  background: z.string().max(64).optional(),
  output_format: z.string().max(64).optional(),
});

/** Chats and images on the session: the browser never holds a token, and the account pays as for any other request. */
export const playgroundRoutes = [
  route('POST /api/console/playground/chat', {
    who: 'user',
    maxBytes: 20 * MEGABYTE,
    body: chatSchema,
    async handle(parts, call) {
      const forced = { ...call.body, stream: true, stream_options: { include_usage: true } };
      const { asked, receipt } = callOf(call, forced);
      const response = await parts.playground.chat(asked);
      if (!response.body) return response;
      const body = withReceipt(response.body, receipt);
      return new Response(body, { status: response.status, headers: response.headers });
    },
  }),
  route('POST /api/console/playground/quote', {
    who: 'user',
    maxBytes: 20 * MEGABYTE,
    body: quoteSchema,
    async handle(parts, call): Promise<PlaygroundQuote> {
      const { asked } = callOf(call, call.body);
      const { maxCostUsd, maxTokens } = await parts.playground.quote(asked);
      return { maxCostUsd, maxTokens: maxTokens ?? null };
    },
  }),
  route('POST /api/console/playground/images', {
    who: 'user',
    body: imageSchema,
    async handle(parts, call): Promise<PlaygroundImages> {
      const { asked, receipt } = callOf(call, { ...call.body, response_format: 'url' });
      const response = await parts.playground.images(asked);
      const given = (await response.json()) as Pick<PlaygroundImages, 'created' | 'data'>;
      return { created: given.created, data: given.data, receipt: receipt() };
    },
  }),
];

/** The call for the relay, and its receipt once it has ended. */
function callOf(
  call: RouteCall<RouteName, 'user'>,
  body: Record<string, unknown>,
): { asked: PlaygroundCall; receipt: () => PlaygroundReceipt } {
  let closed: ClosedCall | undefined;
  const { requestId, notes, origin } = call.meta;
  const asked: PlaygroundCall = {
    accountId: call.user.accountId,
    requestId,
    notes,
    body,
    size: measured(body),
    signal: call.request.signal,
    client: 'Tollgate playground',
    origin,
    onClosed: (how) => (closed = how),
  };
  return { asked, receipt: () => receiptOf(requestId, closed) };
}

function measured(body: Record<string, unknown>): { bytes: number; characters: number } {
  const json = JSON.stringify(body);
  return { bytes: Buffer.byteLength(json), characters: json.length };
}

/** The stream as it comes, and after its end one event more: what it cost. */
function withReceipt(
  body: ReadableStream<Uint8Array>,
  receipt: () => PlaygroundReceipt,
): ReadableStream<Uint8Array> {
  const source = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await source.read();
      if (!done) return controller.enqueue(value);
      const event = `event: tollgate\ndata: ${JSON.stringify(receipt())}\n\n`;
      controller.enqueue(new TextEncoder().encode(event));
      controller.close();
    },
    cancel: (reason) => source.cancel(reason),
  });
}

/** The relay closes a call before its answer ends; one that it has not closed is still to be charged. */
function receiptOf(requestId: RequestId, closed: ClosedCall | undefined): PlaygroundReceipt {
  const { settled, usage = NO_USAGE } = closed ?? {};
  return {
    requestId,
    state: settled?.state ?? 'pending',
    outcome: closed?.outcome ?? null,
    costUsd: usd(settled?.charged ?? 0),
    heldUsd: usd(settled?.held ?? 0),
    availableUsd: settled ? usd(settled.available) : null,
    inputTokens: usage.input,
    cachedTokens: usage.cached,
    outputTokens: usage.output,
    reasoningTokens: usage.reasoning,
    images: usage.images,
    firstByteMs: closed?.firstByteMs ?? null,
    durationMs: closed?.durationMs ?? null,
  };
}
