import { billUsd, NO_WORK, PRICES, type Work } from './invoice.ts';
import { listen, type Received, type Reply } from './requests.ts';
import { PLAIN_SCENE, type Refusal, type Scene } from './scene.ts';
import { cueIn, cueOf, tokensOf, wordsFrom } from './words.ts';

/** One call that reached the backend, and what the backend would bill for it. */
export interface Call {
  readonly path: string;
  readonly work: Work;
  readonly billedUsd: number;
  /** Its end has come, whichever side brought it. */
  readonly isOver: boolean;
  readonly isRefused: boolean;
  /** The gateway ended it while the backend was silent. */
  readonly wasGivenUp: boolean;
}

/**
 * A backend that speaks OpenAI's API and keeps its own invoice. It bills input once it has accepted a request and output
 * as it is generated, read or not; what it refuses costs nothing. A whole answer is generated to its end, whoever still
 * listens; a stream ends when its connection does.
 */
export class InvoiceBackend {
  readonly url: string;
  readonly #close: () => Promise<void>;
  readonly #scenes: Scenes;
  #cues = 0;

  private constructor(port: number, close: () => Promise<void>, scenes: Scenes) {
    this.url = `http://127.0.0.1:${port}/v1`;
    this.#close = close;
    this.#scenes = scenes;
  }

  static async start(wantedPort = 0): Promise<InvoiceBackend> {
    const scenes: Scenes = new Map();
    const server = await listen(async (received, reply) => {
      if (received.path.endsWith('/models')) return reply.whole(200, JSON.stringify(MODEL_LIST));
      const found = scenes.get(cueIn(received.body) ?? '');
      await answer(received, reply, found ?? { scene: PLAIN_SCENE, calls: [] });
    }, wantedPort);
    return new InvoiceBackend(server.port, () => server.close(), scenes);
  }

  /** Requests whose prompt has the scene's cue are answered as it says. */
  scene(wish: Partial<Scene> = {}): { readonly cue: string; calls(): readonly Call[]; billedUsd(): number } {
    const cue = cueOf(++this.#cues);
    const calls: OpenCall[] = [];
    this.#scenes.set(cue, { scene: { ...PLAIN_SCENE, ...wish }, calls });
    return {
      cue,
      calls: () => calls.map((call) => call.seen()),
      billedUsd: () => calls.reduce((sum, call) => sum + call.seen().billedUsd, 0),
    };
  }

  close(): Promise<void> {
    return this.#close();
  }
}

/** The names of models that every gateway knows how to count, so that none has to guess. */
export const CHAT_MODEL = 'gpt-4.1';
/** Thinks out of sight before it answers; gateways that want to know that of a model are told. */
export const THINKING_MODEL = 'o4-mini';
export const IMAGE_MODEL = 'meadow-image';
const MODEL_LIST = {
  object: 'list',
  data: [CHAT_MODEL, THINKING_MODEL, IMAGE_MODEL].map((id) => ({ id, object: 'model' })),
};
const HUGE_TOKENS = 1_000_000_000;
/** How long it stays silent before it breaks off itself. */
export const SILENCE_MS = 20_000;
/** Of a frozen or slow answer, how often it looks whether anybody is still there. */
const LOOK_MS = 10;

type Scenes = Map<string, { readonly scene: Scene; readonly calls: OpenCall[] }>;

class OpenCall {
  readonly path: string;
  work = NO_WORK;
  isOver = false;
  isRefused = false;
  wasGivenUp = false;

  constructor(path: string) {
    this.path = path;
  }

  seen(): Call {
    const { path, work, isOver, isRefused, wasGivenUp } = this;
    return { path, work, isOver, isRefused, wasGivenUp, billedUsd: billUsd(work) };
  }
}

interface Asked {
  readonly model?: string;
  readonly messages?: readonly { readonly role: string; readonly content?: unknown }[];
  readonly prompt?: string;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean } | null;
  readonly max_tokens?: number | null;
  readonly max_completion_tokens?: number | null;
  readonly n?: number | null;
  readonly service_tier?: string | null;
}

interface Performance {
  readonly asked: Asked;
  readonly scene: Scene;
  readonly call: OpenCall;
  readonly reply: Reply;
}

async function answer(
  { path, body }: Received,
  reply: Reply,
  { scene, calls }: { readonly scene: Scene; readonly calls: OpenCall[] },
): Promise<void> {
  const call = new OpenCall(path);
  const refusal = scene.refusals[calls.length];
  calls.push(call);
  try {
    // What a gateway sends is JSON with these fields, or nothing that could be answered.
    const asked = JSON.parse(body) as Asked;
    if (refusal !== undefined) return refuse({ asked, scene, call, reply }, refusal);
    if (path.endsWith('/images/generations')) return await paint({ asked, scene, call, reply });
    if (!path.endsWith('/chat/completions')) return reply.whole(404, errorBody('there is nothing here', 404));
    await (asked.stream === true ? stream : whole)({ asked, scene, call, reply });
  } catch (error) {
    if (reply.isOpen) reply.whole(400, errorBody(String(error), 400));
  } finally {
    call.isOver = true;
  }
}

function refuse({ call, reply }: Performance, { status, retryAfterSeconds }: Refusal): void {
  call.isRefused = true;
  const headers: Readonly<Record<string, string>> =
    retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  const message = status === 429 ? 'Rate limit reached' : 'The server had an error';
  reply.whole(status, errorBody(message, status), { headers });
}

function errorBody(message: string, status: number): string {
  const type = status === 429 ? 'rate_limit_error' : status < 500 ? 'invalid_request_error' : 'server_error';
  return JSON.stringify({ error: { message, type, param: null, code: null } });
}

async function whole({ asked, scene, call, reply }: Performance): Promise<void> {
  await pause(scene.delayMs);
  const words = wordCount(asked, scene);
  const choices = asked.n ?? 1;
  call.work = workOf(asked, scene, words * choices);
  const seed = Math.floor(Math.random() * 1_000_000);
  const body = JSON.stringify({
    id: `chatcmpl-${seed}`,
    object: 'chat.completion',
    created: now(),
    model: asked.model,
    service_tier: tierOf(asked),
    choices: Array.from({ length: choices }, (_, index) => choice(scene, { index, seed, words })),
    ...(scene.usage === 'missing' ? {} : { usage: usageReport(scene, call.work) }),
  });
  if (scene.end === undefined) return reply.whole(200, body);
  reply.whole(200, body, { cutAfter: Math.floor(body.length / 2) });
}

function choice(
  { toolCall }: Scene,
  { index, seed, words }: { readonly index: number; readonly seed: number; readonly words: number },
) {
  const source = wordsFrom(seed + index);
  const content = Array.from({ length: words }, () => source.next().value).join(' ');
  const message = toolCall
    ? { role: 'assistant', content: null, tool_calls: [toolCallOf(content)] }
    : { role: 'assistant', content };
  return { index, message, logprobs: null, finish_reason: toolCall ? 'tool_calls' : 'stop' };
}

function toolCallOf(content: string) {
  return { id: 'call_meadow', type: 'function', function: { name: 'write', arguments: content } };
}

async function stream({ asked, scene, call, reply }: Performance): Promise<void> {
  await pause(scene.delayMs);
  if (!reply.isOpen) return;
  const seed = Math.floor(Math.random() * 1_000_000);
  const send = (event: object): void => reply.write(`data: ${JSON.stringify(event)}\n\n`);
  const head = {
    id: `chatcmpl-${seed}`,
    object: 'chat.completion.chunk',
    created: now(),
    model: asked.model,
    service_tier: tierOf(asked),
  };
  const chunk = (delta: object, finish: string | null = null) =>
    send({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] });
  reply.stream();
  if (scene.errorFirst) {
    send(JSON.parse(errorBody('The server had an error', 500)) as object);
    return reply.end();
  }
  call.work = workOf(asked, scene, 0);
  await pause(scene.reasoningTokens * scene.wordMs);
  const most = wordCount(asked, scene);
  const source = wordsFrom(seed);
  chunk({ role: 'assistant', content: scene.toolCall ? null : '' });
  for (let word = 0; word < most; word++) {
    if (scene.end?.afterWords === word) return await breakOff(scene.end.how, reply, call);
    if (scene.wordMs > 0) await pause(scene.wordMs);
    if (!reply.isOpen) return;
    call.work = workOf(asked, scene, word + 1);
    chunk(deltaOf(scene, { word, text: source.next().value }));
  }
  chunk({}, scene.toolCall ? 'tool_calls' : 'stop');
  if (asked.stream_options?.include_usage === true && scene.usage !== 'missing')
    send({ ...head, choices: [], usage: usageReport(scene, call.work) });
  reply.write('data: [DONE]\n\n');
  reply.end();
}

function deltaOf(
  { toolCall }: Scene,
  { word, text }: { readonly word: number; readonly text: string },
): object {
  const piece = word === 0 ? text : ` ${text}`;
  if (!toolCall) return { content: piece };
  if (word === 0) return { tool_calls: [{ index: 0, ...toolCallOf(piece) }] };
  return { tool_calls: [{ index: 0, function: { arguments: piece } }] };
}

/** What a gateway has not read when its connection breaks it may never get, and this is about what it got. */
const READ_MS = 500;

async function breakOff(how: 'cut' | 'freeze', reply: Reply, call: OpenCall): Promise<void> {
  if (how === 'freeze') {
    const until = Date.now() + SILENCE_MS;
    while (reply.isOpen && Date.now() < until) await pause(LOOK_MS);
    call.wasGivenUp = !reply.isOpen;
  } else await pause(READ_MS);
  reply.cut();
}

async function paint({ asked, scene, call, reply }: Performance): Promise<void> {
  await pause(scene.delayMs);
  const images = (asked.n ?? 1) - scene.missingImages;
  call.work = { ...NO_WORK, images };
  const data = Array.from({ length: images }, () => ({ b64_json: PIXEL }));
  reply.whole(200, JSON.stringify({ created: now(), data }));
}

/** One grey pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==';

function wordCount(asked: Asked, { words, reasoningTokens }: Scene): number {
  const cap = asked.max_completion_tokens ?? asked.max_tokens ?? Infinity;
  return Math.max(0, Math.min(words, cap - reasoningTokens));
}

function workOf(asked: Asked, scene: Scene, words: number): Work {
  return {
    inputTokens: countInput(asked),
    cachedTokens: scene.cachedTokens,
    outputTokens: words + scene.reasoningTokens,
    images: 0,
    factor: asked.service_tier === 'priority' ? PRICES.priorityFactor : 1,
  };
}

/** As chat models do: the words, and a few tokens around each message. */
function countInput({ messages = [] }: Asked): number {
  const contents = messages.map(({ content }) =>
    typeof content === 'string' ? content : JSON.stringify(content),
  );
  return contents.reduce((sum, content) => sum + tokensOf(content) + 4, 3);
}

function tierOf({ service_tier: asked }: Asked): string {
  return asked === 'priority' ? 'priority' : 'default';
}

function usageReport({ usage, reasoningTokens }: Scene, work: Work): object {
  const output = {
    right: work.outputTokens,
    missing: 0,
    zero: 0,
    negative: -work.outputTokens,
    huge: HUGE_TOKENS,
  };
  const prompt = usage === 'zero' ? 0 : work.inputTokens;
  return {
    prompt_tokens: prompt,
    completion_tokens: output[usage],
    total_tokens: prompt + output[usage],
    prompt_tokens_details: { cached_tokens: work.cachedTokens, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoningTokens, audio_tokens: 0 },
  };
}

function now(): number {
  return Math.floor(Date.now() / 1000);
}

async function pause(ms: number): Promise<void> {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}
