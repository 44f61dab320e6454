import { accountTotals, topSpenders } from '../../activity/accounts.ts';
import { backendLatencies, type LatencySample } from '../../activity/backend-latency.ts';
import { runningRequests } from '../../activity/request-log.ts';
import { ALL_ACCOUNTS, DAY_MS, sumUsage } from '../../activity/usage.ts';
import { usageModels, dayTotals, type DayTotal } from '../../activity/usage-sums.ts';
import { lostByPayments } from '../../payments/payment-rows.ts';
import { OVERRUN_ACCOUNT } from '../../ledger/decide.ts';
import { dayOf } from '../../std/calendar.ts';
import { dayText, usd, usdOfText } from '../amounts.ts';
import type {
  AdminBackendFigures,
  AdminDay,
  AdminMoney,
  AdminMoneySums,
  AdminOverview,
} from '../contract.ts';
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
    who: 'admin',
    handle: (parts) => {
      const now = parts.clock.now();
      return recentOf(parts.store).get('overview', now, () => computeOverview(parts, now));
    },
  }),
];

async function computeOverview(parts: RouteParts, now: number): Promise<AdminOverview> {
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
    days: lastDays(now, SHOWN_DAYS).map((day): AdminDay => ({
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
    topAccounts: spenders.map((row) => ({
      accountId: row.id,
      email: row.email,
      monthSpentUsd: usd(row.month_spent),
    })),
    backends: backendFigures(parts, sample),
    sample: sample.since === undefined ? null : { requests: sample.requests, since: sample.since },
    at: now,
  };
}

/** yyyymmdd, today last. */
function lastDays(now: number, days: number): number[] {
  return Array.from({ length: days }, (_, index) => dayOf(now - (days - 1 - index) * DAY_MS));
}

function moneyOf(rows: readonly DayTotal[], now: number): AdminMoney {
  const between = (oldest: number, newest: number): AdminMoneySums => {
    const [from, to] = [dayOf(now - oldest * DAY_MS), dayOf(now - newest * DAY_MS)];
    return moneySums(rows.filter(({ day }) => day >= from && day <= to));
  };
  return {
    periods: ([1, 7, MONEY_DAYS] as const).map((days) => ({
      days,
      now: between(days - 1, 0),
      before: between(2 * days - 1, days),
    })),
    days: lastDays(now, MONEY_DAYS).map((day) => ({
      day: dayText(day),
      ...moneySums(rows.filter((row) => row.day === day)),
    })),
  };
}

function moneySums(rows: readonly DayTotal[]): AdminMoneySums {
  const sum = (of: (row: DayTotal) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const [charged, costed] = [sum((row) => row.charged), sum((row) => row.costed)];
  const [cost, possible] = [sum((row) => row.cost), sum((row) => row.possible_cost)];
  const isKnown = costed > 0 || cost > 0;
  return {
    revenueUsd: usd(charged),
    costUsd: isKnown ? usd(cost) : null,
    marginUsd: isKnown || possible > 0 ? usd(costed - cost - possible) : null,
    unknownUsd: usd(charged - costed),
  };
}

function backendFigures(parts: RouteParts, sample: LatencySample): AdminBackendFigures[] {
  return parts.backends.list().map((status) => {
    const figures = sample.backends.get(status.name);
    return {
      name: status.name,
      state: backendState(parts.catalog, status),
      isPaused: parts.catalog.current().upstreams.get(status.name)?.paused === true,
      hasFailedTest: status.hasFailedTest,
      calls: figures?.calls ?? 0,
      failures: figures?.failures ?? 0,
      firstByteMs: figures?.firstByteMs ?? null,
      durationMs: figures?.durationMs ?? null,
    };
  });
}
