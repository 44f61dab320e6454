import type { Store } from '../store/store.ts';

/** Several admins at once, or one page that refreshes, query the store once. */
const FRESH_MS = 3_000;
/** An older answer is given at once while a new one is computed; one older than this is not given at all. */
const KEPT_MS = 60_000;
/** How many answers are kept for the operator, and for each account. */
const MAX_KEPT = 50;
const MAX_KEPT_OF_ACCOUNT = 5;
const MAX_ACCOUNTS = 500;

interface Kept {
  readonly at: number;
  readonly answer: Promise<unknown>;
}

/** Answers that take long to compute, from sums over everything: a page never waits for one that it had a moment ago. */
export class RecentAnswers {
  readonly #kept = new Map<string, Kept>();
  readonly #computing = new Set<string>();
  readonly #maxKept: number;
  readonly #renewals: OneByOne;

  constructor(maxKept = MAX_KEPT, renewals = new OneByOne()) {
    this.#maxKept = maxKept;
    this.#renewals = renewals;
  }

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
    if (oldest !== undefined && this.#kept.size >= this.#maxKept) this.#kept.delete(oldest);
    this.#kept.set(key, { at, answer });
    // One that fails late must not take a newer one with it.
    answer.catch(() => this.#kept.get(key)?.answer === answer && this.#kept.delete(key));
    return answer;
  }

  /** What fails is not kept; the answer before it stays until it is too old. */
  #renew(key: string, now: number, compute: () => Promise<unknown>): void {
    this.#computing.add(key);
    void this.#renewals.next(async () => {
      try {
        const answer = await compute();
        if ((this.#kept.get(key)?.at ?? 0) <= now) void this.#keep(key, now, Promise.resolve(answer));
      } catch {
        // Whoever asks next computes it again, and hears why.
      } finally {
        this.#computing.delete(key);
      }
    });
  }
}

/** New answers are computed one after the other, since nobody waits for them. */
class OneByOne {
  #last: Promise<void> = Promise.resolve();

  next(work: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(work);
    return this.#last;
  }
}

interface AnswersOfStore {
  readonly operator: RecentAnswers;
  /** The answers of each account, in the order of their last use. */
  readonly accounts: Map<string, RecentAnswers>;
  readonly accountWork: OneByOne;
}

/** By store: a process may run more than one console. */
const byStore = new WeakMap<Store, AnswersOfStore>();

/** The operator's answers, or those of one account: nobody's answers take the place of somebody else's. */
export function recentOf(store: Store, accountId?: string): RecentAnswers {
  const known = byStore.get(store) ?? {
    operator: new RecentAnswers(),
    accounts: new Map<string, RecentAnswers>(),
    accountWork: new OneByOne(),
  };
  byStore.set(store, known);
  return accountId === undefined ? known.operator : ofAccount(known, accountId);
}

function ofAccount({ accounts, accountWork }: AnswersOfStore, accountId: string): RecentAnswers {
  const own = accounts.get(accountId) ?? new RecentAnswers(MAX_KEPT_OF_ACCOUNT, accountWork);
  accounts.delete(accountId);
  accounts.set(accountId, own);
  const [unused] = accounts.keys();
  if (unused !== undefined && accounts.size > MAX_ACCOUNTS) accounts.delete(unused);
  return own;
}
