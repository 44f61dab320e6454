import { chatRefusal, imageRefusal } from '../providers/openai-rules.ts';
import type { Fields, Refusal } from '../providers/stand-in.ts';
import { ANTHROPIC, messagesRefusal } from './anthropic-wire.ts';
import type { Cues } from './cues.ts';
import { OpenLine, type InvoiceLine } from './invoice.ts';
import { RawHttpServer, type HttpExchange } from './http-exchange.ts';
import { countInput, planIn } from './input.ts';
import { embeddingsRefusal, OPENAI, vectors } from './openai-wire.ts';
import type { Plan } from './plan.ts';
import { bill, stepsOf, type Step } from './steps.ts';
import { PIXEL_BASE64 } from '../support/scripted-backend.ts';

/** A request as the backend knows it. */
interface Work {
  readonly exchange: HttpExchange;
  readonly body: Fields;
  readonly plan: Plan;
  readonly cues: Cues;
  readonly line: OpenLine;
  /** How it ends early this time. */
  readonly failure: Plan['answer']['failure'];
}

/** A dialect in which the backend answers chats. */
export interface ChatWire {
  /** What comes before the first step is an event for every client; otherwise some clients see nothing before the first text. */
  readonly beginsWithEvent: boolean;
  cap(body: Fields): number;
  /** The events before the first step. */
  begin(plan: Plan, line: OpenLine): string;
  /** One step as events. */
  step(plan: Plan, step: Step): string;
  /** The end of the answer, up to and with the reason why it ended. */
  finish(plan: Plan, line: OpenLine, reason: 'stop' | 'length'): string;
  /** The usage, if it comes after the reason. */
  usage(plan: Plan, line: OpenLine): string;
  done: string;
  whole(
    plan: Plan,
    line: OpenLine,
    made: { readonly steps: readonly Step[]; readonly reason: 'stop' | 'length' },
  ): unknown;
}

/** The pace of a common model: what the backend makes until it learns that nobody listens is billed. */
const STEPS_PER_SECOND = 50;
const STEPS_PER_TURN = 16;

/**
 * A provider with an invoice of its own, over real sockets. It counts with a real tokenizer, bills the input of every
 * request that it takes and whatever it generates until the socket is closed, and refuses what the public references of
 * its two dialects refuse.
 */
export class BillingBackend {
  readonly invoice: InvoiceLine[] = [];
  /** What it refused, and whatever went wrong inside; both are faults of the run. */
  readonly refusals: string[] = [];
  readonly #plays: ReadonlyMap<number, { readonly plan: Plan; readonly cues: Cues }>;
  readonly #server: RawHttpServer;
  readonly #name: string;
  #port = 0;
  #running = 0;

  constructor(name: string, plays: ReadonlyMap<number, { readonly plan: Plan; readonly cues: Cues }>) {
    this.#name = name;
    this.#plays = plays;
    this.#server = new RawHttpServer((exchange) => this.#answer(exchange));
  }

  async start(): Promise<string> {
    this.#port = await this.#server.listen();
    return this.baseUrl;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.#port}/v1`;
  }

  /** Requests whose line is not on the invoice yet. */
  get running(): number {
    return this.#running;
  }

  stop(): void {
    this.#server.stop();
  }

  async #answer(exchange: HttpExchange): Promise<void> {
    this.#running++;
    try {
      await this.#dispatch(exchange);
    } catch (thrown) {
      this.refusals.push(`${exchange.path}: ${String(thrown)}`);
      exchange.breakOff('reset');
    } finally {
      this.#running--;
    }
  }

  async #dispatch(exchange: HttpExchange): Promise<void> {
    const route = ROUTES[exchange.path];
    if (!route)
      return exchange.json(exchange.path === '/v1/models' ? 200 : 404, { object: 'list', data: [] });
    const body = JSON.parse(exchange.body.toString('utf8')) as Fields;
    const refusal = route.refusal(body);
    if (refusal) {
      this.refusals.push(`${exchange.path}: ${refusal.message}`);
      return exchange.json(refusal.status, route.error(refusal));
    }
    const play = this.#plays.get(planIn(body));
    if (!play) throw new Error('no such plan');
    const { plan, cues } = play;
    const failure = this.#failureOf(plan, cues.calls++);
    if (failure?.how === 'busy') return exchange.json(503, { error: { message: 'busy' } });
    if (failure?.how === 'error') return exchange.json(500, { error: { message: 'failed' } });
    const line = new OpenLine(plan.id, this.#name);
    line.serviceTier = plan.answer.serviceTier ?? 'default';
    countInput(line, body, plan);
    const end = await route.work({ exchange, body, plan, cues, line, failure });
    this.invoice.push(line.closed(end));
  }

  #failureOf({ answer: { failure } }: Plan, callsBefore: number): Plan['answer']['failure'] {
    const isMine = failure?.backend === undefined || failure.backend === this.#name;
    return callsBefore === 0 && isMine ? failure : undefined;
  }
}

interface RouteOfBackend {
  refusal(body: Fields): Refusal | undefined;
  error(refusal: Refusal): unknown;
  work(work: Work): Promise<InvoiceLine['end']>;
}

const openAiError = ({ message, param, code }: Refusal) => ({
  error: { message, type: 'invalid_request_error', param, code },
});
const anthropicError = ({ message }: Refusal) => ({
  type: 'error',
  error: { type: 'invalid_request_error', message },
});

const ROUTES: Readonly<Record<string, RouteOfBackend | undefined>> = {
  '/v1/chat/completions': {
    // The rules of a model that takes sampling parameters; our own names are not in the reference.
    refusal: (body) => chatRefusal({ ...body, model: 'gpt-4o-mini' }),
    error: openAiError,
    work: (work) => chat(work, OPENAI),
  },
  '/v1/messages': { refusal: messagesRefusal, error: anthropicError, work: (work) => chat(work, ANTHROPIC) },
  '/v1/embeddings': { refusal: embeddingsRefusal, error: openAiError, work: embed },
  '/v1/images/generations': {
    refusal: (body) =>
      imageRefusal(
        { ...body, model: body['quality'] === undefined ? 'dall-e-2' : 'gpt-image-2' },
        'generation',
      ),
    error: openAiError,
    work: paint,
  },
};

async function chat(work: Work, wire: ChatWire): Promise<InvoiceLine['end']> {
  const { exchange, body, cues, failure } = work;
  await cues.pass('before headers', exchange.closed);
  if (failure?.at === 'before headers') return breakOff(work);
  if (exchange.isClosed) return 'socket closed';
  return body['stream'] === true ? await streamChat(work, wire) : await wholeChat(work, wire);
}

async function streamChat(work: Work, wire: ChatWire): Promise<InvoiceLine['end']> {
  const { exchange, plan, cues, line, failure } = work;
  const { steps, finish } = stepsOf(plan, wire.cap(work.body));
  exchange.beginStream();
  await cues.pass('at headers', exchange.closed);
  if (failure?.at === 'at headers') return breakOff(work);
  if (exchange.isClosed) return 'socket closed';
  exchange.send(wire.begin(plan, line));
  if (wire.beginsWithEvent) await cues.pass('at first event', exchange.closed);
  if (!(await generate(work, steps, (step) => sendText(exchange, wire.step(plan, step)))))
    return 'socket closed';
  if (failure?.at === 'in mid text') return breakOff(work);
  exchange.send(wire.finish(plan, line, finish));
  await cues.pass('after finish', exchange.closed);
  sendText(exchange, wire.usage(plan, line));
  if (plan.ask.stopsReading) {
    await exchange.stalled();
    cues.wroteEverything();
  }
  await cues.pass('after usage', exchange.closed);
  if (failure) {
    await cues.enoughSeen;
    return breakOff(work);
  }
  exchange.send(wire.done);
  exchange.end();
  return exchange.isClosed ? 'socket closed' : 'finished';
}

/** An empty chunk would be the end of the body. */
function sendText(exchange: HttpExchange, text: string): void {
  if (text !== '') exchange.send(text);
}

/** Half of a body whose length was announced goes out before the client leaves, or the backend breaks off. */
async function wholeChat(work: Work, wire: ChatWire): Promise<InvoiceLine['end']> {
  const { exchange, plan, cues, line, failure } = work;
  const { steps, finish } = stepsOf(plan, wire.cap(work.body));
  if (!(await generate(work, steps, () => undefined))) return 'socket closed';
  const text = JSON.stringify(wire.whole(plan, line, { steps, reason: finish }));
  const half = Math.floor(text.length / 2);
  exchange.beginJson(200, Buffer.byteLength(text));
  exchange.send(text.slice(0, half));
  if (failure) return breakOff(work);
  await cues.pass('in mid body', exchange.closed);
  exchange.send(text.slice(half));
  return exchange.isClosed ? 'socket closed' : 'finished';
}

/**
 * Makes the tokens of an answer, as fast as they are taken while somebody listens and at a model's own pace afterwards.
 * False: the socket was closed; what was made until then stands on the invoice.
 */
async function generate(work: Work, steps: readonly Step[], send: (step: Step) => void): Promise<boolean> {
  const { exchange, plan, cues, line, failure } = work;
  for (const [index, step] of steps.entries()) {
    if (exchange.isClosed) return false;
    bill(line, step);
    send(step);
    if (step.role !== 'hidden' && step.text !== '') await cues.pass('at first event', exchange.closed);
    if (step.stage) {
      if (plan.ask.stopsReading) await exchange.stalled();
      await cues.pass(step.stage, exchange.closed);
      if (plan.answer.pauseMs !== undefined) await Bun.sleep(plan.answer.pauseMs);
      if (failure?.at === 'in mid text') {
        if (plan.streamed) await cues.enoughSeen;
        return true;
      }
    }
    if (cues.hasLeft && plan.streamed) await Bun.sleep(1_000 / STEPS_PER_SECOND);
    else if (index % STEPS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return true;
}

function breakOff({ exchange, failure }: Work): InvoiceLine['end'] {
  exchange.breakOff(failure?.how === 'reset' ? 'reset' : 'close');
  return 'failed';
}

async function embed(work: Work): Promise<InvoiceLine['end']> {
  const { exchange, body, plan, cues, line, failure } = work;
  await cues.pass('before headers', exchange.closed);
  if (failure) return breakOff(work);
  exchange.json(200, vectors(body, plan, line));
  return 'finished';
}

async function paint(work: Work): Promise<InvoiceLine['end']> {
  const { exchange, body, cues, line, failure } = work;
  const count = Number(body['n'] ?? 1);
  const quality = typeof body['quality'] === 'string' ? body['quality'] : 'auto';
  line.images.push({ size: String(body['size']), quality, count });
  await cues.pass('before headers', exchange.closed);
  if (failure) return breakOff(work);
  const data = Array.from({ length: count }, () => ({ b64_json: PIXEL_BASE64 }));
  exchange.json(200, { created: 1_700_000_000, data, ...(quality === 'auto' ? {} : { quality }) });
  return 'finished';
}
