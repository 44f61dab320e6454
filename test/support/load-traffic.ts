import type { BackendScript } from './raw-backend.ts';

export interface TrafficPlan {
  readonly url: string;
  readonly token: string;
  /** Clients that ask for whole answers, and clients that ask for streams; each asks again and again. */
  readonly whole: number;
  readonly streams: number;
  readonly script?: { readonly whole?: BackendScript; readonly stream?: BackendScript };
}

/** One output token costs so much in the catalogs of these tests, and input nothing. */
export const TOKEN_NANO_USD = 2_000;
const CAP = 100;

/** Clients that remember every answer that reached them whole: what such an answer cost is a promise. */
export class Traffic {
  /** What each answer that arrived whole must have been charged, by its id. */
  readonly acknowledged = new Map<string, number>();
  /** How requests ended: `answered`, an error code, or `broken` where the answer never came, or not to its end. */
  readonly ends: Record<string, number> = {};
  readonly #plan: TrafficPlan;
  readonly #clients: Promise<void>[];
  #stopping = false;
  #running = 0;

  constructor(plan: TrafficPlan) {
    this.#plan = plan;
    const whole = Array.from({ length: plan.whole }, () => this.#client(false));
    const streams = Array.from({ length: plan.streams }, () => this.#client(true));
    this.#clients = [...whole, ...streams];
  }

  get running(): number {
    return this.#running;
  }

  /** No new requests; resolves when the running ones have ended, however they end. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#clients);
  }

  async #client(stream: boolean): Promise<void> {
    while (!this.#stopping) {
      this.#running++;
      const end = await this.#ask(stream).catch(() => 'broken');
      this.#running--;
      this.ends[end] = (this.ends[end] ?? 0) + 1;
      // A client that was refused or cut off pauses before its next request.
      if (end !== 'answered') await Bun.sleep(20);
    }
  }

  async #ask(stream: boolean): Promise<string> {
    const { url, token, script } = this.#plan;
    const chosen = stream ? script?.stream : script?.whole;
    const response = await fetch(`${url}/api/public/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        endpoint: 'svc_chat',
        model: 'm',
        messages: [{ role: 'user', content: 'hi' }],
        max_tokens: CAP,
        stream,
        ...(chosen ? { script: chosen } : {}),
      }),
    });
    const text = await response.text();
    if (response.status !== 200) return /"code":"(\w+)"/.exec(text)?.[1] ?? String(response.status);
    const whole = stream ? text.endsWith('data: [DONE]\n\n') : text.endsWith('}');
    const id = response.headers.get('x-request-id') ?? '';
    if (whole) this.acknowledged.set(id, (stream ? (chosen?.chunks ?? 1) : 1) * TOKEN_NANO_USD);
    return whole ? 'answered' : 'broken';
  }
}
