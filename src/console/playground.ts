import { z } from 'zod';
import {
  imageJobsOf,
  latestImageTimes,
  type ImageTime,
  type ListedImageJob,
} from '../activity/image-job-list.ts';
import { NO_USAGE } from '../ledger/price.ts';
import type { RequestId } from '../std/ids.ts';
import { usd } from './amounts.ts';
import type { RequestState, Usd } from './contract.ts';
import { imagePaths } from './images.ts';
import type { ClosedCall, PlaygroundCall } from './playground-relay.ts';
import { MEGABYTE, type RouteCall, type RouteName } from './route.ts';
import { walletRoute, type ChosenWallet } from './wallet.ts';

interface ChatMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  /** Null: an answer that only calls tools. */
  content: string | ChatPart[] | null;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  /** In a tool's result: the call that it answers. */
  tool_call_id?: string;
}

type ChatPart =
  | { type: 'text'; text: string }
  /** A `data:` URL of the picture. */
  | { type: 'image_url'; image_url: { url: string; detail?: string } }
  | { type: 'file'; file: { filename: string; file_data: string } };

const text = (max: number) => z.string().min(1).max(max);
/** Only what selects the route is looked at here; the rest is the relay's to check, as for the public API. */
const chatSchema = z.looseObject({
  endpoint: text(100),
  model: text(256),
  messages: z.array(z.custom<ChatMessage>()).min(1),
});
/** The body of a chat or of an image request. */
const quoteSchema = z.looseObject({ endpoint: text(100), model: text(256) });
const imageSchema = z.looseObject({ endpoint: text(100), model: text(256), prompt: text(32_000) });

/** Chats and images on the session: the browser never holds a token, and the account pays as for any other request, in a team as its member. */
export const playgroundRoutes = [
  /**
   * The public API's chat body. The answer is always `text/event-stream`:
   *
   *   data: {chat.completion.chunk}        as in the public API, any number of them, the last one with `usage`
   *   data: {"error": …}                   when it failed after it began (ErrorBody)
   *   data: [DONE]
   *   event: tollgate
   *   data: {Receipt}                      always the last event, unless you stop reading
   *
   * A refusal before the first byte is a plain JSON ErrorBody with its status. To stop, abort the fetch; what was
   * delivered is charged, and GET /api/console/requests/{x-request-id} tells how much.
   */
  walletRoute('POST /api/console/playground/chat', {
    right: 'spend',
    takesSlot: true,
    maxBytes: 20 * MEGABYTE,
    body: chatSchema,
    async handle(parts, wallet, call) {
      const forced = { ...call.body, stream: true, stream_options: { include_usage: true } };
      const { asked, receipt } = callOf(wallet, call, forced);
      const response = await parts.playground.chat(asked);
      if (!response.body) return response;
      const body = withReceipt(response.body, receipt);
      return new Response(body, { status: response.status, headers: response.headers });
    },
  }),
  /** The most that a request could cost, before it is sent; `maxTokens` is null for images. */
  walletRoute('POST /api/console/playground/quote', {
    right: 'spend',
    takesSlot: true,
    maxBytes: 20 * MEGABYTE,
    body: quoteSchema,
    async handle(parts, wallet, call) {
      const { asked } = callOf(wallet, call, call.body);
      const { maxCostUsd, maxTokens } = await parts.playground.quote(asked);
      return { maxCostUsd, maxTokens: maxTokens ?? null };
    },
  }),
  /** With `stream: true`, events and at the end the cost; otherwise all images at once. */
  walletRoute('POST /api/console/playground/images', {
    right: 'spend',
    takesSlot: true,
    maxBytes: 20 * MEGABYTE,
    body: imageSchema,
    async handle(parts, wallet, call) {
      const { asked, receipt } = callOf(wallet, call, { ...call.body, response_format: 'url' });
      const response = await parts.playground.images(asked);
      if (call.body['stream'] === true && response.body) {
        const { status, headers } = response;
        return new Response(withReceipt(response.body, receipt), { status, headers });
      }
      const given = (await response.json()) as GivenImages;
      return { created: given.created, data: given.data, receipt: receipt() };
    },
  }),
  walletRoute('POST /api/console/playground/image-jobs', {
    right: 'spend',
    takesSlot: true,
    maxBytes: 20 * MEGABYTE,
    body: imageSchema,
    async handle(parts, wallet, call): Promise<{ id: string }> {
      // A job has no reader.
      const { stream: _, partial_images: __, ...body } = call.body;
      const { asked } = callOf(wallet, call, body);
      await parts.playground.startImageJob(asked);
      return { id: asked.requestId };
    },
  }),
  /** Image requests that run in the background, the newest first: those that run, and those that ended lately. */
  walletRoute('GET /api/console/image-jobs', {
    right: 'see_own',
    async handle({ store, reader, clock }, { spenderId }) {
      const parts = { db: store.db, reader };
      const now = clock.now();
      const jobs = await imageJobsOf(parts, spenderId, now - ENDED_JOBS_MS);
      const isRunning = jobs.some(({ ended_at }) => ended_at === null);
      const times = isRunning ? await latestImageTimes(parts, spenderId) : [];
      // With the server's time, so that elapsed time is right in a browser whose clock is not.
      return { now, items: jobs.map((job) => imageJobItem(job, times)) };
    },
  }),
];

interface GivenImages {
  created: number;
  /** Links on this origin; the pictures are in the gallery too. */
  data: { url?: string; b64_json?: string; revised_prompt?: string }[];
}

/** How long jobs are listed after they ended. */
const ENDED_JOBS_MS = 86_400_000;

function imageJobItem(job: ListedImageJob, times: readonly ImageTime[]) {
  const { id, state, endpoint, model, prompt, count, images } = job;
  const own = times.filter((time) => time.endpoint === endpoint && time.model === model);
  const sorted = own.map(({ durationMs }) => durationMs).toSorted((a, b) => a - b);
  return {
    /** The request's. */
    id,
    state,
    endpoint,
    model,
    /** Null once a job has failed, since it is no longer stored then. */
    prompt,
    /** How many images were asked for. */
    count,
    createdAt: job.created_at,
    endedAt: job.ended_at,
    /** How long the model has taken for the account's latest images; null where there are none. */
    typicalMs: sorted[Math.floor(sorted.length / 2)] ?? null,
    /** Null until it has ended. */
    chargedUsd: job.ended_at === null || job.charged === null ? null : usd(job.charged),
    images: images.map((image) => ({ ...image, ...imagePaths(image.id) })),
    // In the public API's shape of an error.
    error: job.error === null ? null : (JSON.parse(job.error) as { message: string }).message,
  };
}

/** What the answer cost and how long it took. */
interface Receipt {
  requestId: string;
  /** `pending`: the store is unavailable and the charge will follow; look at the request again in a moment. */
  state: RequestState;
  outcome: string | null;
  costUsd: Usd;
  heldUsd: Usd;
  /** What the account can spend now; null: not known yet. */
  availableUsd: Usd | null;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  images: number;
  firstByteMs: number | null;
  durationMs: number | null;
}

/** The call for the relay, and its receipt once it has ended. */
function callOf(
  { spenderId }: ChosenWallet,
  call: Pick<RouteCall<RouteName, 'user'>, 'meta' | 'size' | 'memory' | 'request'>,
  body: Record<string, unknown>,
): { asked: PlaygroundCall; receipt: () => Receipt } {
  let closed: ClosedCall | undefined;
  const { requestId, requestRecord, origin } = call.meta;
  const asked: PlaygroundCall = {
    accountId: spenderId,
    requestId,
    requestRecord,
    body,
    size: call.size,
    memory: call.memory,
    signal: call.request.signal,
    client: 'Tollgate playground',
    origin,
    onClosed: (how) => (closed = how),
  };
  return { asked, receipt: () => receiptOf(requestId, closed) };
}

/** The stream as it comes, and after its end one event more: what it cost. */
function withReceipt(body: ReadableStream<Uint8Array>, receipt: () => Receipt): ReadableStream<Uint8Array> {
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
function receiptOf(requestId: RequestId, closed: ClosedCall | undefined): Receipt {
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
