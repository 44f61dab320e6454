import type { UndisturbedRounds } from '../harness/undisturbed.ts';
import { ADMIN, CUSTOMER, PASSWORD } from './fill.ts';

const MOST_REFUSALS = 20;
const REFUSED_WAIT_MS = 2_000;

export interface Took {
  readonly median: number;
  readonly p95: number;
  readonly bytes: number;
}

/** Somebody who is signed in, without a browser. */
export interface Visitor {
  get(path: string): Promise<Called>;
}

interface Called {
  readonly status: number;
  readonly bytes: number;
  readonly text: string;
}

export async function signIn(url: string, who: 'customer' | 'admin'): Promise<Visitor> {
  const response = await fetch(`${url}/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url, 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify({ email: who === 'admin' ? ADMIN : CUSTOMER, password: PASSWORD }),
  });
  if (!response.ok) throw new Error(`cannot sign in: ${response.status} ${await response.text()}`);
  const cookie = response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  const headers = { cookie, 'sec-fetch-site': 'same-origin', 'accept-encoding': 'gzip, br' };
  return {
    async get(path) {
      const answer = await fetch(url + path, { headers });
      const text = await answer.text();
      return { status: answer.status, bytes: text.length, text };
    },
  };
}

/** Round after round over all paths, so that no path has the quiet moments of the machine for itself. */
export async function timeAll(
  calls: Readonly<Record<string, () => Promise<Called>>>,
  rounds: number,
  undisturbed: UndisturbedRounds,
): Promise<Map<string, Took>> {
  const took = new Map<string, { ms: number[]; bytes: number }>();
  for (let round = 0; round <= rounds; round++) {
    for (const [title, call] of Object.entries(calls)) {
      let bytes = 0;
      const ms = await undisturbed.of(async () => {
        const one = await timedCall(title, call);
        bytes = one.bytes;
        return one.ms;
      });
      const seen = took.get(title) ?? { ms: [], bytes };
      // The first round only fills caches, as the first visit of a day does.
      if (round > 0) seen.ms.push(ms);
      took.set(title, seen);
    }
  }
  return new Map([...took].map(([title, { ms, bytes }]) => [title, { ...percentiles(ms), bytes }]));
}

/** The server refuses calls while the machine has no time for them; that says nothing about a query. */
async function timedCall(
  title: string,
  call: () => Promise<Called>,
): Promise<{ readonly ms: number; readonly bytes: number }> {
  for (let attempt = 0; ; attempt++) {
    const start = performance.now();
    const { status, bytes, text } = await call();
    const ms = performance.now() - start;
    if (status === 200) return { ms, bytes };
    if (status !== 503 || attempt === MOST_REFUSALS)
      throw new Error(`${title}: ${status} ${text.slice(0, 300)}`);
    await Bun.sleep(REFUSED_WAIT_MS);
  }
}

/** By the nearest rank: that share of all took at most so long. */
export function percentiles(unsorted: readonly number[]): { median: number; p95: number } {
  const sorted = unsorted.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
  return { median: at(0.5), p95: at(0.95) };
}
