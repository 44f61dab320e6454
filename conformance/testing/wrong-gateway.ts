/**
 * A small gateway for the suite's own test. It is right, unless an account was opened with a fault: then it is wrong in
 * that one way for this account. Usage: bun wrong-gateway.ts PORT FILE BACKEND
 */
import { CHAT_MODEL, IMAGE_MODEL, THINKING_MODEL } from '../backend/backend.ts';
import { PRICES } from '../backend/invoice.ts';
import type { Fault } from './faults.ts';
import { Books } from './wrong-books.ts';

const [, , port = '0', file = '', backend = ''] = process.argv;
const NANO = 1_000_000_000;
const books = new Books(file, port);
const finished = new Map<string, Promise<Response> | Response>();
/** Charges that a node with a fault writes later. */
const unwritten: { readonly hold: number; readonly charge: number }[] = [];
const WRITE_LATER_MS = 60_000;
/** A stopped process does not see that its backend goes on: more than the suite stops it for. */
const SILENCE_MS = 6_000;
const PAUSE_MS = 1_500;
const NOTE_MS = 50;
const DEFAULT_CAP = 1_000;

interface Body {
  readonly model: string;
  readonly messages?: readonly { readonly content: string }[];
  readonly prompt?: string;
  readonly stream?: boolean;
  readonly max_tokens?: number;
  readonly n?: number;
  readonly service_tier?: string;
}

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number };
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number };
}

/** One request on its way. */
interface Run {
  readonly body: Body;
  readonly faults: ReadonlySet<Fault>;
  readonly hold: number;
  readonly most: number;
  readonly client: AbortSignal;
}

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(port),
  idleTimeout: 120,
  routes: {
    '/admin/account': {
      POST: async (request) => {
        const wish = (await request.json()) as {
          readonly usd: number;
          readonly perMinute: number;
          readonly faults: readonly Fault[];
        };
        return Response.json({ token: books.open(Math.round(wish.usd * NANO), wish.perMinute, wish.faults) });
      },
    },
    '/admin/debit': {
      POST: async (request) => {
        const { token, usd } = (await request.json()) as { readonly token: string; readonly usd: number };
        books.debit(token, Math.round(usd * NANO));
        return Response.json({});
      },
    },
    '/v1/account': (request) => Response.json({ available_usd: books.available(tokenOf(request)) / NANO }),
    '/v1/chat/completions': { POST: admitted },
    '/v1/images/generations': { POST: admitted },
  },
});

function tokenOf(request: Request): string {
  return request.headers.get('authorization')?.replace('Bearer ', '') ?? '';
}

async function admitted(request: Request): Promise<Response> {
  const token = tokenOf(request);
  const faults = books.faults(token);
  if (faults === undefined) return failed(401, 'no such token');
  const body = (await request.json()) as Body;
  const key = request.headers.get('idempotency-key');
  if (key === null || faults.has('ignores the key')) return await run(request, body, faults);
  const known = `${token} ${key}`;
  const before = finished.get(known);
  if (before !== undefined) return (await before).clone();
  const answer = run(request, body, faults);
  if (!faults.has('knows the key only afterwards')) finished.set(known, answer);
  const done = await answer;
  finished.set(known, done);
  return done.clone();
}

async function run(request: Request, body: Body, faults: ReadonlySet<Fault>): Promise<Response> {
  const token = tokenOf(request);
  if (!books.takeSlot(token, faults)) return failed(429, 'too many requests');
  const most = ceiling(body);
  const hold = books.hold(token, holdsNothing(body, faults) ? 0 : most, faults);
  if (hold === undefined) return failed(402, 'not enough money');
  const one: Run = { body, faults, hold, most, client: request.signal };
  try {
    const leaving = new AbortController();
    const answer = await ask(one, new URL(request.url).pathname.slice(3), leaving.signal);
    if (answer.status !== 200) {
      close(one, faults.has('charges the hold for failures') ? most : 0);
      return answer;
    }
    if (body.stream === true) return new Response(streamed(one, answer, leaving), STREAM);
    return await whole(one, answer);
  } catch {
    close(one, 0);
    return failed(502, 'the backend broke off');
  }
}

const STREAM = { headers: { 'content-type': 'text/event-stream' } };

function holdsNothing({ max_tokens: cap, prompt }: Body, faults: ReadonlySet<Fault>): boolean {
  if (faults.has('checks without holding')) return true;
  if (prompt !== undefined) return faults.has('holds nothing for images');
  return cap === undefined && faults.has('holds nothing without a limit');
}

/** The most that a request can cost: no tokenizer makes more tokens than there are bytes. */
function ceiling({
  messages,
  max_tokens: cap = DEFAULT_CAP,
  n = 1,
  service_tier: tier,
  prompt,
}: Body): number {
  if (prompt !== undefined) return n * PRICES.imageUsd * NANO;
  const input = JSON.stringify(messages).length;
  return price({ input, cached: 0, output: cap * n }) * factorOf(tier);
}

function factorOf(tier: string | undefined): number {
  return tier === 'priority' ? PRICES.priorityFactor : 1;
}

function price({ input, cached, output }: { input: number; cached: number; output: number }): number {
  const usd =
    (input - cached) * PRICES.inputPerMillionUsd +
    cached * PRICES.cachedInputPerMillionUsd +
    output * PRICES.outputPerMillionUsd;
  return Math.ceil(usd * 1_000);
}

async function ask({ body, faults }: Run, path: string, signal: AbortSignal): Promise<Response> {
  const sent = body.prompt === undefined ? { max_tokens: DEFAULT_CAP, ...body } : body;
  for (let call = 1; ; call++) {
    const answer = await fetch(backend + path, { method: 'POST', body: JSON.stringify(sent), signal });
    if (answer.status === 200 && body.stream !== true) {
      // The whole of it is read here: only then is it known to be one.
      try {
        return Response.json(await answer.json());
      } catch (error) {
        if (!faults.has('asks again after a cut') || call > 2) throw error;
        continue;
      }
    }
    if (answer.status === 200) return answer;
    const refused = failed(answer.status === 429 ? 429 : 502, 'the backend failed');
    const isAskedAgain =
      answer.status === 500
        ? call < 2 && !faults.has('never asks again')
        : call < 10 && faults.has('asks a busy backend ten times');
    await answer.body?.cancel();
    if (!isAskedAgain) return refused;
  }
}

async function whole(one: Run, answer: Response): Promise<Response> {
  const { body, faults, client, most } = one;
  const content = (await answer.json()) as {
    readonly usage?: Usage;
    readonly data?: readonly unknown[];
    readonly choices?: readonly { readonly message: { readonly content: string } }[];
  };
  if (client.aborted && faults.has('forgets who left a whole answer')) {
    close(one, 0);
  } else if (content.data !== undefined) {
    const asked = body.n ?? 1;
    const count = faults.has('charges the images asked for') ? asked : content.data.length;
    close(one, (faults.has('charges one image') ? 1 : count) * PRICES.imageUsd * NANO);
  } else {
    const words = (content.choices ?? []).reduce((sum, { message }) => sum + wordsOf(message.content), 0);
    const charge = chargeOf(one, content.usage, words);
    close(one, faults.has('believes any number') ? charge : Math.min(charge, most));
  }
  return Response.json(content);
}

function chargeOf({ body, faults, most }: Run, usage: Usage | undefined, words: number): number {
  const { n = 1, max_tokens: cap = DEFAULT_CAP } = body;
  const counted = { input: inputOf(body), cached: 0, output: words };
  const factor = faults.has('ignores the tier') ? 1 : factorOf(body.service_tier);
  const silent = body.stream === true ? 'no report in a stream, no charge' : 'no report, no charge';
  if (usage === undefined) return faults.has(silent) ? 0 : Math.min(price(counted) * factor, most);
  const reported = usage.completion_tokens;
  const isSane =
    reported > 0 ||
    (reported === 0 && faults.has('believes zero')) ||
    (reported < 0 && faults.has('believes a negative number'));
  if (!isSane) return price(counted) * factor;
  const hidden = faults.has('reasoning is free')
    ? (usage.completion_tokens_details?.reasoning_tokens ?? 0)
    : 0;
  const output = faults.has('believes any number') ? reported : Math.min(reported, cap * n);
  const cached = faults.has('has no price for cached input')
    ? 0
    : (usage.prompt_tokens_details?.cached_tokens ?? 0);
  const share = faults.has('charges one choice') ? n : 1;
  return price({ input: usage.prompt_tokens, cached, output: output / share - hidden }) * factor;
}

/** As the backend counts it. */
function inputOf({ messages = [] }: Body): number {
  return messages.reduce((sum, { content }) => sum + wordsOf(content) + 4, 3);
}

function wordsOf(content: string): number {
  return content.split(/\s+/).filter((word) => word !== '').length;
}

/** What a stream has brought so far. */
class Meter {
  words = 0;
  toolWords = 0;
  usage: Usage | undefined;
  hasFailed = false;
  hasContent = false;
  isDone = false;
  #rest = '';

  read(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data: ')) this.#event(line.slice(6));
  }

  #event(data: string): void {
    if (data === '[DONE]') {
      this.isDone = true;
      return;
    }
    const event = JSON.parse(data) as {
      readonly error?: unknown;
      readonly usage?: Usage;
      readonly choices?: readonly [{ readonly delta: Delta }?];
    };
    if (event.error !== undefined) this.hasFailed = true;
    this.usage = event.usage ?? this.usage;
    const delta = event.choices?.[0]?.delta;
    if (delta === undefined) return;
    this.hasContent = true;
    this.words += wordsOf(delta.content ?? '');
    this.toolWords += wordsOf(delta.tool_calls?.[0].function.arguments ?? '');
  }
}

interface Delta {
  readonly content?: string | null;
  readonly tool_calls?: readonly [{ readonly function: { readonly arguments: string } }];
}

/** Passes the stream on, and closes its hold exactly once, whoever ends it. */
function streamed(one: Run, answer: Response, leaving: AbortController): ReadableStream<Uint8Array> {
  const passing = new PassingStream(one, leaving);
  return new ReadableStream<Uint8Array>({
    start: (out) => void passing.pump(answer, out),
    cancel: () => passing.leave(),
  });
}

class PassingStream {
  readonly #meter = new Meter();
  readonly #one: Run;
  readonly #leaving: AbortController;
  readonly #finishes: boolean;
  readonly #leftEarly: boolean;
  #hasLeft = false;
  #hadPause = false;

  constructor(one: Run, leaving: AbortController) {
    const { body, faults, client } = one;
    this.#one = one;
    this.#leaving = leaving;
    this.#finishes =
      (body.model === THINKING_MODEL && !faults.has('stops a model that thinks')) ||
      faults.has('reads on after the client left');
    this.#leftEarly = client.aborted;
    if (client.aborted) this.leave();
    client.addEventListener('abort', () => this.leave());
  }

  leave(): void {
    this.#hasLeft = true;
    if (!this.#finishes) this.#leaving.abort();
  }

  async pump(answer: Response, out: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const { faults, hold } = this.#one;
    let notedAt = 0;
    let last = Date.now();
    const silence = setInterval(() => {
      if (Date.now() - last > SILENCE_MS && !faults.has('waits for ever')) this.#leaving.abort();
    }, 100);
    try {
      for await (const piece of answer.body ?? []) {
        this.#hadPause ||= Date.now() - last > PAUSE_MS;
        last = Date.now();
        this.#meter.read(new TextDecoder().decode(piece));
        if (!this.#hasLeft) out.enqueue(piece);
        if (last - notedAt < NOTE_MS) continue;
        books.note(hold, this.#counted());
        notedAt = last;
      }
    } catch {
      // The backend broke off, fell silent, or its client left: what came until then is charged.
    } finally {
      clearInterval(silence);
    }
    if (!this.#hasLeft) out.close();
    close(this.#one, this.#isFree() ? 0 : this.#total());
  }

  #counted(): number {
    const { words, toolWords } = this.#meter;
    return chargeOf(
      this.#one,
      undefined,
      this.#one.faults.has('does not count tool calls') ? words : words + toolWords,
    );
  }

  #total(): number {
    const { hasFailed, hasContent, toolWords, usage, isDone, words } = this.#meter;
    const { faults, most } = this.#one;
    if (hasFailed && !hasContent) return faults.has('charges streams of errors') ? most : 0;
    if (faults.has('tool calls are free') && toolWords > 0) return chargeOf(this.#one, undefined, 0);
    if (usage !== undefined) return Math.min(most, chargeOf(this.#one, usage, words));
    return isDone ? chargeOf(this.#one, undefined, words + toolWords) : this.#counted();
  }

  #isFree(): boolean {
    const { faults } = this.#one;
    if (this.#hadPause && faults.has('streams with a pause are free')) return true;
    if (this.#leftEarly && faults.has('forgets who left early')) return true;
    if (this.#hasLeft && faults.has('left streams are free')) return true;
    return !this.#meter.isDone && !this.#hasLeft && faults.has('broken streams are free');
  }
}

function close({ hold, faults }: Run, charge: number): void {
  if (faults.has('keeps charges in memory')) unwritten.push({ hold, charge });
  else books.settle(hold, charge, faults);
}

setInterval(() => {
  for (const { hold, charge } of unwritten.splice(0)) books.settle(hold, charge, new Set());
}, WRITE_LATER_MS);

function failed(status: number, message: string): Response {
  return Response.json({ error: { message, type: 'server_error', param: null, code: null } }, { status });
}

console.log(`serves ${CHAT_MODEL}, ${THINKING_MODEL} and ${IMAGE_MODEL} on ${port}`);
