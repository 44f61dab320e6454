import { ASYNC, endOfJob } from './image-jobs.ts';
import type { BackendScript } from './raw-backend.ts';

export interface TrafficPlan {
  readonly url: string;
  readonly token: string;
  /** Clients that ask for whole answers, and clients that ask for streams; each asks again and again. */
  readonly whole: number;
  readonly streams: number;
  /** Clients that ask for an image as a job, and look until it has ended. */
  readonly imageJobs?: number;
  /** Called when the head of an answer is there, whatever it says. */
  readonly onAnswer?: (answer: { readonly askedAt: number; readonly answeredAt: number }) => void;
  readonly script?: { readonly whole?: BackendScript; readonly stream?: BackendScript };
}

/** One output token costs so much in the catalogs of these tests, and input nothing. */
export const TOKEN_NANO_USD = 2_000;
/** What the catalogs of these tests take for an image. */
const IMAGE_NANO_USD = 10_000_000;
const CAP = 100;

/** Clients that remember every answer that reached them whole: what such an answer cost is a promise. */
export class Traffic {
  /** What each answer that arrived whole must have been charged, by its id. */
  readonly acknowledged = new Map<string, number>();
  /** How requests ended: `answered`, an error code, or `broken` where the answer never came, or not to its end. */
  readonly ends: Record<string, number> = {};
  /** Why answers never came, or not to their end, and how often. */
  readonly breaks: Record<string, number> = {};
  readonly #plan: TrafficPlan;
  readonly #clients: Promise<void>[];
  #stopping = false;
  #running = 0;

  constructor(plan: TrafficPlan) {
    this.#plan = plan;
    const clients = (count: number, ask: () => Promise<string>): Promise<void>[] =>
      Array.from({ length: count }, () => this.#client(ask));
    this.#clients = [
      ...clients(plan.whole, () => this.#chat(false)),
      ...clients(plan.streams, () => this.#chat(true)),
      ...clients(plan.imageJobs ?? 0, () => this.#imageJob()),
    ];
  }

  get running(): number {
    return this.#running;
  }

  /** No new requests; resolves when the running ones have ended, however they end. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#clients);
  }

  async #client(ask: () => Promise<string>): Promise<void> {
    while (!this.#stopping) {
      this.#running++;
      const end = await ask().catch((error: unknown) => this.#broken(String(error)));
      this.#running--;
      this.ends[end] = (this.ends[end] ?? 0) + 1;
      // A client that was refused or cut off pauses before its next request.
      if (end !== 'answered') await Bun.sleep(20);
    }
  }

  async #chat(stream: boolean): Promise<string> {
    const { script } = this.#plan;
    const chosen = stream ? script?.stream : script?.whole;
    const response = await this.#post('chat/completions', {
      endpoint: 'svc_chat',
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: CAP,
      stream,
      ...(chosen ? { script: chosen } : {}),
    });
    const text = await response.text();
    if (response.status !== 200) return refusalIn(text, response.status);
    const whole = stream ? text.endsWith('data: [DONE]\n\n') : text.endsWith('}');
    const id = response.headers.get('x-request-id') ?? '';
    if (whole) this.acknowledged.set(id, (stream ? (chosen?.chunks ?? 1) : 1) * TOKEN_NANO_USD);
    return whole ? 'answered' : this.#broken(`ended with ${text.slice(-200)}`);
  }

  async #imageJob(): Promise<string> {
    const wish = { endpoint: 'svc_tgter', model: 'p', prompt: 'a gate', size: '512x512' };
    const response = await this.#post('images/generations', wish, ASYNC);
    const text = await response.text();
    if (response.status !== 200) return refusalIn(text, response.status);
    const { id } = JSON.parse(text) as { id: string };
    const { status, error } = await endOfJob(this.#plan.url, this.#plan.token, id);
    if (status !== 'done') return error?.code ?? this.#broken('a job without a reason');
    this.acknowledged.set(id, IMAGE_NANO_USD);
    return 'answered';
  }

  #broken(reason: string): 'broken' {
    const known = reason.replaceAll(/\b(?:req|img)_\w+|127\.0\.0\.1:\d+/g, '…');
    this.breaks[known] = (this.breaks[known] ?? 0) + 1;
    return 'broken';
  }

  async #post(path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const { url, token, onAnswer } = this.#plan;
    const askedAt = performance.now();
    const response = await fetch(`${url}/api/public/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    onAnswer?.({ askedAt, answeredAt: performance.now() });
    return response;
  }
}

function refusalIn(text: string, status: number): string {
  return /"code":"(\w+)"/.exec(text)?.[1] ?? String(status);
}
