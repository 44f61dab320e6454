import { z } from 'zod';
import { requestById } from '../activity/request-log.ts';
import type { AccountId, RequestId } from '../std/ids.ts';
import { usd } from './amounts.ts';
import type { PlaygroundImages, PlaygroundMessage, PlaygroundReceipt } from './contract.ts';
import type { RouteParts } from './parts.ts';
import type { PlaygroundCall } from './playground-relay.ts';
import type { RouteHandlers, ConsoleCall } from './visit.ts';

type PlaygroundRoutes = 'POST /api/console/playground/chat' | 'POST /api/console/playground/images';

const text = (max: number) => z.string().min(1).max(max);
/** Only what selects the route is looked at here; the rest is the relay's to check, as for the public API. */
const chatSchema = z.looseObject({
  endpoint: text(100),
  model: text(256),
  messages: z.array(z.custom<PlaygroundMessage>()).min(1),
});
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
export function playgroundRoutes(parts: RouteParts): Pick<RouteHandlers, PlaygroundRoutes> {
  return {
    'POST /api/console/playground/chat': {
      body: chatSchema,
      async handle(call) {
        const forced = { ...call.body, stream: true, stream_options: { include_usage: true } };
        const response = await parts.playground.chat(callOf(call, forced));
        if (!response.body) return response;
        const body = withReceipt(response.body, () => receiptLater(parts, call));
        return new Response(body, { status: response.status, headers: response.headers });
      },
    },
    'POST /api/console/playground/images': {
      body: imageSchema,
      async handle(call) {
        const response = await parts.playground.images(
          callOf(call, { ...call.body, response_format: 'url' }),
        );
        const given = (await response.json()) as Pick<PlaygroundImages, 'created' | 'data'>;
        return { created: given.created, data: given.data, receipt: await receiptLater(parts, call) };
      },
    },
  };
}

function callOf(call: ConsoleCall<PlaygroundRoutes>, body: Record<string, unknown>): PlaygroundCall {
  const { bytes, characters } = measured(body);
  return {
    accountId: call.visitor.accountId,
    requestId: call.meta.requestId,
    body,
    size: { bytes, characters },
    signal: call.request.signal,
    client: 'Tollgate playground',
    origin: call.meta.origin,
  };
}

function measured(body: Record<string, unknown>): { bytes: number; characters: number } {
  const json = JSON.stringify(body);
  return { bytes: Buffer.byteLength(json), characters: json.length };
}

/** The stream as it comes, and after its end one event more: what it cost. */
function withReceipt(
  body: ReadableStream<Uint8Array>,
  receipt: () => Promise<PlaygroundReceipt>,
): ReadableStream<Uint8Array> {
  const source = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await source.read();
      if (!done) return controller.enqueue(value);
      const event = `event: tollgate\ndata: ${JSON.stringify(await receipt())}\n\n`;
      controller.enqueue(new TextEncoder().encode(event));
      controller.close();
    },
    cancel: (reason) => source.cancel(reason),
  });
}

const PATIENCE_MS = 3_000;
const STEP_MS = 25;

/** A stream's last byte and its settlement meet within milliseconds; if the store is away the receipt says `pending`. */
async function receiptLater(
  parts: RouteParts,
  call: ConsoleCall<PlaygroundRoutes>,
): Promise<PlaygroundReceipt> {
  const { requestId } = call.meta;
  const { accountId } = call.visitor;
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (let waitMs = STEP_MS; ; waitMs *= 2) {
    const row = await requestById(parts.store.db, requestId, accountId);
    const settled = row !== undefined && row.state !== 'pending';
    if (settled || performance.now() + waitMs > giveUpAt) return receiptOf(parts, requestId, accountId, row);
    await Bun.sleep(waitMs);
  }
}

async function receiptOf(
  { store }: RouteParts,
  requestId: RequestId,
  accountId: AccountId,
  row: Awaited<ReturnType<typeof requestById>>,
): Promise<PlaygroundReceipt> {
  const account = await store.db
    .selectFrom('account')
    .select('balance')
    .where('id', '=', accountId)
    .executeTakeFirst();
  return {
    requestId,
    state: row?.state ?? 'pending',
    outcome: row?.outcome ?? null,
    costUsd: usd(row?.charged ?? 0),
    heldUsd: usd(row?.held ?? 0),
    balanceUsd: usd(account?.balance ?? 0),
    inputTokens: row?.input_tokens ?? 0,
    cachedTokens: row?.cached_tokens ?? 0,
    outputTokens: row?.output_tokens ?? 0,
    reasoningTokens: row?.reasoning_tokens ?? 0,
    images: row?.images ?? 0,
    firstByteMs: row?.first_byte_ms ?? null,
    durationMs: row?.duration_ms ?? null,
  };
}
