import { accountTotals, topSpenders } from '../../activity/accounts.ts';
import { backendLatencies, type LatencySample } from '../../activity/backend-latency.ts';
import { runningRequests } from '../../activity/request-log.ts';
import { ALL_ACCOUNTS, sumUsage } from '../../activity/usage.ts';
import { usageModels, dayTotals, type DayTotal } from '../../activity/usage-sums.ts';
import { operatorMay } from '../../identity/accounts/roles.ts';
import { lostByPayments } from '../../payments/payment-rows.ts';
import { OVERRUN_ACCOUNT } from '../../ledger/decide.ts';
import { DAY_MS, dayOf } from '../../std/calendar.ts';
import { dayText, usd, usdOfText } from '../amounts.ts';
import type { RouteParts } from '../parts.ts';
import { recentOf } from '../recent-answers.ts';
import { usageCounts } from '../usage-groups.ts';
import { route } from '../route.ts';
import { backendState } from './backends.ts';

const SHOWN_DAYS = 14;
const MONEY_DAYS = 30;
const TOP = 5;

/** All traffic at a glance. */
export const adminOverviewRoutes = [
  route('GET /api/console/admin/overview', {
    who: 'operator',
    may: 'see_customers',
    summary: 'Get the overview',
    async handle(parts, { operator: { role } }) {
      const now = parts.clock.now();
      const all = await recentOf(parts.store).get('overview', now, () => computeOverview(parts, now));
      const seesMoney = operatorMay(role, 'see_business');
      return {
        ...all,
        /** Null for roles that do not see margins. */
        money: seesMoney ? all.money : null,
        /** What backends used beyond holds: the operator's loss, ever. Null for roles that do not see margins. */
        overrunUsd: seesMoney ? all.overrunUsd : null,
        /** What refunds and disputes took beyond balances, less what came back. Null as above. */
        lostPaymentsUsd: seesMoney ? all.lostPaymentsUsd : null,
      };
    },
  }),
];

async function computeOverview(parts: RouteParts, now: number) {
  const at = { db: parts.store.db, reader: parts.reader };
  const sums = { db: parts.store.db, reader: parts.reader.sums };
  const to = dayOf(now);
  const month = { accountId: ALL_ACCOUNTS, from: dayOf(now - (MONEY_DAYS - 1) * DAY_MS), to };
  const [days, models, accounts, spenders, openRequests, loss, lostPayments, sample] = await Promise.all([
    dayTotals(sums, { from: dayOf(now - (2 * MONEY_DAYS - 1) * DAY_MS), to }),
    usageModels(sums, month, TOP),
    accountTotals(at),
    topSpenders(at, now, TOP),
    runningRequests(at.db),
    at.db.selectFrom('account').select('balance').where('id', '=', OVERRUN_ACCOUNT).executeTakeFirst(),
    lostByPayments(at.db),
    backendLatencies(at, now),
  ]);
  return {
    /** Days without traffic are there with zeros. */
    days: lastDays(now, SHOWN_DAYS).map((day) => ({
      day: dayText(day),
      ...usageCounts(sumUsage(days.filter((row) => row.day === day))),
    })),
    money: moneyOf(days, now),
    accounts: {
      total: accounts.total,
      disabled: accounts.disabled,
      balanceUsd: usdOfText(accounts.balance),
      heldUsd: usdOfText(accounts.held),
    },
    openRequests,
    // The losses of payments are on the same account.
    overrunUsd: usd((loss?.balance ?? 0) - lostPayments),
    lostPaymentsUsd: usd(lostPayments),
    topModels: models.map((row) =>
      Object.assign({ endpoint: row.endpoint, model: row.model }, usageCounts(row)),
    ),
    /** Who spent most this month. */
    topAccounts: spenders.map((row) => ({
      accountId: row.id,
      email: row.email,
      monthSpentUsd: usd(row.month_spent),
    })),
    backends: backendFigures(parts, sample),
    /** The requests that the backends' figures come from; null: there was none in 24 hours. */
    sample: sample.since === undefined ? null : { requests: sample.requests, since: sample.since },
    /** When these figures were computed; they are kept for a few seconds. */
    at: now,
  };
}

/** yyyymmdd, today last. */
function lastDays(now: number, days: number): number[] {
  return Array.from({ length: days }, (_, index) => dayOf(now - (days - 1 - index) * DAY_MS));
}

function moneyOf(rows: readonly DayTotal[], now: number) {
  const between = (oldest: number, newest: number) => {
    const [from, to] = [dayOf(now - oldest * DAY_MS), dayOf(now - newest * DAY_MS)];
    return moneySums(rows.filter(({ day }) => day >= from && day <= to));
  };
  return {
    periods: ([1, 7, MONEY_DAYS] as const).map((days) => ({
      /** The days of the period, today included. */
      days,
      now: between(days - 1, 0),
      /** The same number of days before it. */
      before: between(2 * days - 1, days),
    })),
    days: lastDays(now, MONEY_DAYS).map((day) => ({
      day: dayText(day),
      ...moneySums(rows.filter((row) => row.day === day)),
    })),
  };
}

function moneySums(rows: readonly DayTotal[]) {
  const sum = (of: (row: DayTotal) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const [charged, costed] = [sum((row) => row.charged), sum((row) => row.costed)];
  const [cost, possible] = [sum((row) => row.cost), sum((row) => row.possible_cost)];
  const isKnown = costed > 0 || cost > 0;
  return {
    revenueUsd: usd(charged),
    /** Null: not known of any request. */
    costUsd: isKnown ? usd(cost) : null,
    /** Of the requests whose cost is known, if all that is possible is billed; null: of none. */
    marginUsd: isKnown || possible > 0 ? usd(costed - cost - possible) : null,
    /** What was charged for requests whose cost is not known. */
    unknownUsd: usd(charged - costed),
    /** What failed attempts cost at most; part of the margin, not of the cost. */
    possibleUsd: usd(possible),
    requests: sum((row) => row.requests),
    failures: sum((row) => row.failures),
  };
}

function backendFigures(parts: RouteParts, sample: LatencySample) {
  return parts.backends.list().map((status) => {
    const figures = sample.backends.get(status.name);
    return {
      name: status.name,
      state: backendState(parts.catalog, status),
      isPaused: parts.catalog.current().upstreams.get(status.name)?.paused === true,
      hasFailedTest: status.hasFailedTest,
      /** Calls of the sample, and those of them that failed. */
      calls: figures?.calls ?? 0,
      failures: figures?.failures ?? 0,
      /** Null: no completed request. */
      firstByteMs: figures?.firstByteMs ?? null,
      durationMs: figures?.durationMs ?? null,
    };
  });
}
