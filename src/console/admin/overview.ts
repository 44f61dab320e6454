import { accountTotals, topSpenders } from '../../activity/accounts.ts';
import { runningRequests } from '../../activity/request-log.ts';
import {
  DAY_MS,
  ALL_ACCOUNTS,
  groupUsage,
  spendOf,
  sumUsage,
  usageRows,
  type UsageDay,
} from '../../activity/usage.ts';
import { lostByPayments } from '../../payments/payment-list.ts';
import { OVERRUN_ACCOUNT } from '../../ledger/decide.ts';
import { dayOf } from '../../std/calendar.ts';
import type { Store } from '../../store/store.ts';
import { dayText, usd, usdOfText } from '../amounts.ts';
import type { AdminDay, AdminOverview } from '../contract.ts';
import type { RouteParts } from '../parts.ts';
import { usageCounts } from '../usage.ts';
import { route } from '../route.ts';
import { backendState } from './backends.ts';

const SHOWN_DAYS = 14;
const TOP = 5;
/** Several admins at once, or one page that refreshes, query the store once. */
const KEPT_MS = 3_000;
/** By store: a process may run more than one console. */
const latest = new WeakMap<Store, { readonly at: number; readonly figures: Promise<AdminOverview> }>();

/** All traffic at a glance. */
export const adminOverviewRoutes = [
  route('GET /api/console/admin/overview', {
    who: 'admin',
    handle: (parts) => {
      const now = parts.clock.now();
      const kept = latest.get(parts.store);
      if (kept && now - kept.at <= KEPT_MS) return kept.figures;
      const figures = computeOverview(parts, now);
      latest.set(parts.store, { at: now, figures });
      figures.catch(() => latest.delete(parts.store));
      return figures;
    },
  }),
];

async function computeOverview(parts: RouteParts, now: number): Promise<AdminOverview> {
  const at = { db: parts.store.db, reader: parts.reader };
  const [rows, accounts, spenders, openRequests, loss, lostPayments] = await Promise.all([
    usageRows(at, ALL_ACCOUNTS, { from: dayOf(now - 29 * DAY_MS), to: dayOf(now) }),
    accountTotals(at),
    topSpenders(at, now, TOP),
    runningRequests(at.db),
    at.db.selectFrom('account').select('balance').where('id', '=', OVERRUN_ACCOUNT).executeTakeFirst(),
    lostByPayments(at.db),
  ]);
  const spend = spendOf(rows, now);
  const status = parts.catalog.status();
  return {
    days: daysOf(rows, now),
    totals: { todayUsd: usd(spend.today), days7Usd: usd(spend.days7), days30Usd: usd(spend.days30) },
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
    topModels: groupUsage(rows, (row) => `${row.endpoint} ${row.model}`)
      .slice(0, TOP)
      .map(({ first, sums }) =>
        Object.assign({ endpoint: first.endpoint, model: first.model }, usageCounts(sums)),
      ),
    topAccounts: spenders.map((row) => ({
      accountId: row.id,
      email: row.email,
      monthSpentUsd: usd(row.month_spent),
    })),
    backends: parts.backends.list().map((status) => ({
      name: status.name,
      state: backendState(parts.catalog, status),
    })),
    catalog: { kind: status.kind, error: status.error ?? null },
    at: now,
  };
}

function daysOf(rows: readonly UsageDay[], now: number): AdminDay[] {
  return Array.from({ length: SHOWN_DAYS }, (_, index) => {
    const day = dayOf(now - (SHOWN_DAYS - 1 - index) * DAY_MS);
    return { day: dayText(day), ...usageCounts(sumUsage(rows.filter((row) => row.day === day))) };
  });
}
