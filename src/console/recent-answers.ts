import type { Store } from '../store/store.ts';

/** Several admins at once, or one page that refreshes, query the store once. */
const FRESH_MS = 3_000;
/** An older answer is given at once while a new one is computed; one older than this is not given at all. */
const KEPT_MS = 60_000;
const MAX_KEPT = 50;

interface Kept {
  readonly at: number;
  readonly answer: Promise<unknown>;
}

/** Answers that take long to compute, from sums over everything: a page never waits for one that it had a moment ago. */
export class RecentAnswers {
  readonly #kept = new Map<string, Kept>();
  readonly #computing = new Set<string>();
  #turn: Promise<unknown> = Promise.resolve();

  get<Answer>(key: string, now: number, compute: () => Promise<Answer>): Promise<Answer> {
    const kept = this.#kept.get(key);
    // One key is always asked for with the same kind of answer.
    if (!kept || now - kept.at > KEPT_MS) return this.#keep(key, now, compute());
    if (now - kept.at > FRESH_MS && !this.#computing.has(key)) this.#renew(key, now, compute);
    return kept.answer as Promise<Answer>;
  }

  #keep<Answer>(key: string, at: number, answer: Promise<Answer>): Promise<Answer> {
    this.#kept.delete(key);
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size >= MAX_KEPT) this.#kept.delete(oldest);
    this.#kept.set(key, { at, answer });
    answer.catch(() => this.#kept.delete(key));
    return answer;
  }

  /** One after the other, since nobody waits for them. What fails is not kept; the answer before it stays until it is too old. */
  #renew(key: string, now: number, compute: () => Promise<unknown>): void {
    this.#computing.add(key);
    this.#turn = this.#turn
      .then(compute)
      .then(
        (answer) => void this.#keep(key, now, Promise.resolve(answer)),
        () => undefined,
      )
      .finally(() => this.#computing.delete(key));
  }
}

/** By store: a process may run more than one console. */
const byStore = new WeakMap<Store, RecentAnswers>();

export function recentOf(store: Store): RecentAnswers {
  const known = byStore.get(store) ?? new RecentAnswers();
  byStore.set(store, known);
  return known;
}
