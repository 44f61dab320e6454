import type { Kysely } from 'kysely';
import { DAY_MS, dayOf } from '../std/calendar.ts';
import type { Clock } from '../std/clock.ts';
import { nanoUsd, toUsdNumber } from '../std/money.ts';
import type { Schema } from '../store/schema.ts';
import { OPERATOR } from './events.ts';
import type { Notices } from './notices.ts';

interface WatchParts {
  readonly db: Kysely<Schema>;
  readonly notices: Notices;
}

/** What is known of a backend's health in this process. */
export interface WatchedBackend {
  readonly name: string;
  readonly state: 'ok' | 'failing' | 'resting' | 'probing';
  readonly requests: number;
  readonly failures: number;
  readonly lastFailure: { readonly reason: string } | undefined;
}

interface KnownBackend {
  served: number;
  downChecks: number;
  /** Unknown after a start: an earlier process may have told. */
  told: boolean | undefined;
}

/** A breaker that opens for a moment is no outage: it must be found open twice without a success in between. */
const DOWN_CHECKS = 2;

/** Tells the operator when a backend is down and when it has served again, once for all nodes. */
export class BackendWatch {
  readonly #parts: WatchParts;
  readonly #known = new Map<string, KnownBackend>();

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  async check(backends: readonly WatchedBackend[]): Promise<void> {
    const names = new Set(backends.map(({ name }) => name));
    for (const name of this.#known.keys()) if (!names.has(name)) this.#known.delete(name);
    for (const backend of backends) await this.#checkOne(backend);
  }

  async #checkOne({ name, state, requests, failures, lastFailure }: WatchedBackend): Promise<void> {
    const known = this.#known.get(name) ?? { served: 0, downChecks: 0, told: undefined };
    this.#known.set(name, known);
    const served = requests - failures;
    // Fewer: the backend was configured anew and counts from zero.
    const hasServed = served > known.served;
    known.served = served;
    if (hasServed) {
      known.downChecks = 0;
      if (known.told !== false) await this.#tellUp(name);
      known.told = false;
    } else if (state === 'resting' || state === 'probing') {
      known.downChecks++;
      if (known.downChecks < DOWN_CHECKS || known.told === true) return;
      await this.#tellDown(name, lastFailure?.reason ?? null);
      known.told = true;
    }
  }

  async #tellDown(backend: string, reason: string | null): Promise<void> {
    const { db, notices } = this.#parts;
    await db.transaction().execute(async (tx) => {
      const notice = { accountId: OPERATOR, topic: `backend ${backend}`, mark: 'down' };
      if (!(await notices.raise(tx, notice))) return;
      await notices.event(tx, { accountId: OPERATOR, type: 'backend.down', data: { backend, reason } });
    });
  }

  async #tellUp(backend: string): Promise<void> {
    const { db, notices } = this.#parts;
    await db.transaction().execute(async (tx) => {
      if (!(await notices.clear(tx, { accountId: OPERATOR, topic: `backend ${backend}` }))) return;
      await notices.event(tx, { accountId: OPERATOR, type: 'backend.up', data: { backend } });
    });
  }
}

/** Days before the end at which the operator is told. */
const WARNED_DAYS = [0, 3, 14];

/** Tells the operator that the certificate ends, once at each of a few moments before. */
export async function watchCertificate(
  { db, notices, clock }: WatchParts & { readonly clock: Clock },
  endsAt: number | undefined,
): Promise<void> {
  if (endsAt === undefined) return;
  const daysLeft = Math.max(0, Math.floor((endsAt - clock.now()) / DAY_MS));
  const stage = WARNED_DAYS.find((days) => daysLeft <= days);
  if (stage === undefined) return;
  await db.transaction().execute(async (tx) => {
    const mark = `${endsAt} ${stage}`;
    if (!(await notices.raise(tx, { accountId: OPERATOR, topic: 'certificate', mark }))) return;
    const data = { ends_at: new Date(endsAt).toISOString(), days_left: daysLeft };
    await notices.event(tx, { accountId: OPERATOR, type: 'certificate.ending', data });
  });
}

/** Tells the operator, once a day, that requests whose cost is known have cost more than they brought. */
export async function watchMargin({
  db,
  notices,
  clock,
  leastLoss,
}: WatchParts & {
  readonly clock: Clock;
  /** Nano-USD; of less the operator does not want to hear. */
  readonly leastLoss: () => Promise<number>;
}): Promise<void> {
  const day = dayOf(clock.now());
  const { revenue, cost } = await db
    .selectFrom('usage_day')
    .select(({ fn }) => [
      fn.sum<number | string | null>('costed').as('revenue'),
      fn.sum<number | string | null>('cost').as('cost'),
    ])
    .where('account_id', '=', '')
    .where('day', '=', day)
    .executeTakeFirstOrThrow();
  const loss = Number(cost) - Number(revenue);
  if (loss <= 0 || loss < (await leastLoss())) return;
  await db.transaction().execute(async (tx) => {
    if (!(await notices.raise(tx, { accountId: OPERATOR, topic: 'margin', mark: String(day) }))) return;
    const data = {
      day: String(day).replace(/(\d{4})(\d\d)(\d\d)/, '$1-$2-$3'),
      revenue_usd: toUsdNumber(nanoUsd(Number(revenue))),
      cost_usd: toUsdNumber(nanoUsd(Number(cost))),
    };
    await notices.event(tx, { accountId: OPERATOR, type: 'margin.negative', data });
  });
}

/** Tells the operator which rules of the books are broken, again only when others are. */
export async function watchLedger(
  { db, notices }: WatchParts,
  breaches: readonly { readonly invariant: string }[],
): Promise<void> {
  const rules = [...new Set(breaches.map(({ invariant }) => invariant))].toSorted();
  await db.transaction().execute(async (tx) => {
    const notice = { accountId: OPERATOR, topic: 'ledger', mark: rules.join(' ') };
    if (rules.length === 0) await notices.clear(tx, notice);
    else if (await notices.raise(tx, notice)) {
      const data = { breaches: breaches.length, rules };
      await notices.event(tx, { accountId: OPERATOR, type: 'ledger.breach', data });
    }
  });
}
