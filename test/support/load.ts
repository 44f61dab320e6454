/**
 * The clients of a heavy test, in a process of their own: so many requests, so many at once, over all given nodes, and
 * then one line of JSON about how they were answered. Run by {@link runLoad}.
 */
import { join } from 'node:path';

export interface LoadPlan {
  /** Where to send, in turn. */
  readonly urls: readonly string[];
  readonly token: string;
  readonly total: number;
  readonly concurrent: number;
  /** Default: the public chat operation. */
  readonly path?: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Leave after so many pieces of the answer. */
  readonly leaveAfter?: number;
  /** Stop beginning new requests after this time, if it was not told to stop before. */
  readonly forMs?: number;
  /** How often a request is sent again when it is told `service_unavailable`, after the time it is told. */
  readonly retries?: number;
  /** No request is waited for longer than this. */
  readonly patienceMs?: number;
}

export interface LoadReport {
  readonly statuses: Readonly<Record<string, number>>;
  /** Error codes of answers that are no 200. */
  readonly codes: Readonly<Record<string, number>>;
  /** Requests without an answer, by what happened. */
  readonly broken: Readonly<Record<string, number>>;
  /** How streams ended: `done`, `error`, `left`, or `silent`, which must never happen. */
  readonly ends: Readonly<Record<string, number>>;
  /** Answers of `service_unavailable` after which the request was sent again; they are in no other number. */
  readonly retried: number;
  readonly refusedWithoutRetryAfter: number;
  /** Until the last byte of an answer that is no 200. */
  readonly slowestRefusalMs: number;
  readonly slowestMs: number;
  readonly tookMs: number;
  readonly texts: number;
}

export async function runLoad(plan: LoadPlan): Promise<LoadReport> {
  const child = startLoad(plan);
  return await child.report;
}

interface RunningLoad {
  /** Begins no further requests. Only for a load that is known to have begun. */
  stop(): Promise<LoadReport>;
  readonly report: Promise<LoadReport>;
}

/** A load that goes on while the test does something else. */
export function startLoad(plan: LoadPlan): RunningLoad {
  const child = Bun.spawn([process.execPath, 'run', join(import.meta.dir, 'load.ts')], {
    stdin: new TextEncoder().encode(JSON.stringify(plan)),
    stdout: 'pipe',
    stderr: 'inherit',
    env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: '20000' },
  });
  const read = async (): Promise<LoadReport> => {
    const text = await new Response(child.stdout).text();
    if ((await child.exited) !== 0) throw new Error(`the load ended badly: ${text}`);
    return JSON.parse(text) as LoadReport;
  };
  const report = read();
  return {
    report,
    stop() {
      child.kill(STOP);
      return report;
    },
  };
}

const STOP = 'SIGTERM';

class Load {
  readonly #plan: LoadPlan;
  readonly #startedAt = performance.now();
  readonly #statuses: Record<string, number> = {};
  readonly #codes: Record<string, number> = {};
  readonly #broken: Record<string, number> = {};
  readonly #ends: Record<string, number> = {};
  readonly #texts = new Set<string>();
  #retried = 0;
  #refusedWithoutRetryAfter = 0;
  #slowestRefusalMs = 0;
  #slowestMs = 0;
  #next = 0;
  #isStopped = false;

  constructor(plan: LoadPlan) {
    this.#plan = plan;
  }

  stop(): void {
    this.#isStopped = true;
  }

  async run(): Promise<LoadReport> {
    await Promise.all(
      Array.from({ length: Math.min(this.#plan.concurrent, this.#plan.total) }, () => this.#client()),
    );
    return {
      statuses: this.#statuses,
      codes: this.#codes,
      broken: this.#broken,
      ends: this.#ends,
      retried: this.#retried,
      refusedWithoutRetryAfter: this.#refusedWithoutRetryAfter,
      slowestRefusalMs: Math.round(this.#slowestRefusalMs),
      slowestMs: Math.round(this.#slowestMs),
      tookMs: Math.round(performance.now() - this.#startedAt),
      texts: this.#texts.size,
    };
  }

  async #client(): Promise<void> {
    const { total, forMs = Infinity } = this.#plan;
    while (this.#next < total && !this.#isStopped && performance.now() - this.#startedAt < forMs) {
      const index = this.#next++;
      try {
        for (let left = this.#plan.retries ?? 0; (await this.#one(index, left > 0)) === 'again'; left--);
      } catch (thrown) {
        count(this.#broken, thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown));
      }
    }
  }

  async #one(index: number, mayRetry: boolean): Promise<'answered' | 'again'> {
    const {
      urls,
      token,
      path = '/api/public/v1/chat/completions',
      body,
      headers,
      patienceMs = 120_000,
    } = this.#plan;
    const begun = performance.now();
    const leaving = new AbortController();
    const timer = setTimeout(() => leaving.abort(new Error('waited too long')), patienceMs);
    try {
      const response = await fetch(`${urls[index % urls.length]}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
        body: JSON.stringify(body),
        signal: leaving.signal,
      });
      const text = response.status === 200 ? '' : await response.text();
      if (mayRetry && text.includes('"service_unavailable"')) {
        this.#retried++;
        await Bun.sleep(Number(response.headers.get('retry-after-ms') ?? 1_000));
        return 'again';
      }
      count(this.#statuses, String(response.status));
      if (response.status === 200) await this.#read(response, leaving);
      else this.#refused(response, text, performance.now() - begun);
      return 'answered';
    } finally {
      clearTimeout(timer);
      this.#slowestMs = Math.max(this.#slowestMs, performance.now() - begun);
    }
  }

  async #read(response: Response, leaving: AbortController): Promise<void> {
    if (!response.headers.get('content-type')?.includes('event-stream')) {
      const text = await response.text();
      if (this.#texts.size < MOST_TEXTS) this.#texts.add(text);
      return;
    }
    const { leaveAfter = Infinity } = this.#plan;
    let pieces = 0;
    let tail = '';
    const decoder = new TextDecoder();
    const reader = response.body?.getReader();
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true };
      if (done) break;
      tail = (tail + decoder.decode(value, { stream: true })).slice(-TAIL);
      if (++pieces >= leaveAfter) {
        count(this.#ends, 'left');
        return leaving.abort();
      }
    }
    count(
      this.#ends,
      tail.includes('data: [DONE]') ? 'done' : tail.includes('data: {"error"') ? 'error' : 'silent',
    );
  }

  #refused(response: Response, text: string, tookMs: number): void {
    this.#slowestRefusalMs = Math.max(this.#slowestRefusalMs, tookMs);
    count(this.#codes, /"code":"(\w+)"/.exec(text)?.[1] ?? 'none');
    if (!(Number(response.headers.get('retry-after')) >= 1)) this.#refusedWithoutRetryAfter++;
  }
}

const TAIL = 500;
const MOST_TEXTS = 1_000;

function count(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}

if (import.meta.main) {
  const plan = JSON.parse(await Bun.stdin.text()) as LoadPlan;
  const load = new Load(plan);
  process.on(STOP, () => load.stop());
  console.log(JSON.stringify(await load.run()));
  process.exit(0);
}
