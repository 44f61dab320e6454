import { accountById, everFunded, monthSpent } from '../activity/accounts.ts';
import { balanceDays, balanceForecast } from '../activity/balance-days.ts';
import { firstRequest, requestPage } from '../activity/request-log.ts';
import { spendBefore, spendOf } from '../activity/usage.ts';
import { usageDays, usageDaysByModel, usageModels } from '../activity/usage-sums.ts';
import { freeOf } from '../ledger/decide.ts';
import { Fault } from '../std/fault.ts';
import { DAY_MS, dayOf } from '../std/calendar.ts';
import type { AccountRow } from '../store/schema.ts';
import { topUpOf } from '../payments/automatic.ts';
import { dayText, usd } from './amounts.ts';
import { moneyOf } from '../identity/accounts/accounts.ts';
import type { Visitor } from '../identity/sign-in/session.ts';
import { expectedWelcomeCredit } from '../identity/sign-in/welcome-credit.ts';
import { catalogSeenBy, modelSample } from './models.ts';
import { budgetLimits, nextLimit, walletLimits } from './next-limit.ts';
import type { RouteParts } from './parts.ts';
import { requestItem } from './receipt.ts';
import { ownToken, spenderOf } from './token.ts';
import { modelRow } from './usage-groups.ts';
import { route } from './route.ts';

const CHART_DAYS = 14;
const BALANCE_DAYS = 30;
const CHART_MODELS = 8;
const LATEST = 10;

/** The account at a glance, and whether its first request has arrived. */
export const overviewRoutes = [
  route('GET /api/console/overview', {
    who: 'user',
    handle: (parts, { user }) => overview(parts, user),
  }),
  route('GET /api/console/quickstart', {
    who: 'user',
    handle: (parts, { user }) => quickstart(parts, user),
  }),
];

async function overview(parts: RouteParts, user: Visitor) {
  const { clock, reader, store } = parts;
  const { accountId } = user;
  const now = clock.now();
  const at = { db: store.db, reader };
  const charted = { accountId, from: dayOf(now - (CHART_DAYS - 1) * DAY_MS), to: dayOf(now) };
  const [account, funded, welcome, compared, models, latest] = await Promise.all([
    requireAccount(parts, accountId),
    everFunded(store.db, accountId),
    expectedWelcomeCredit(store.db, accountId),
    usageDays(at, { ...charted, from: dayOf(now - 59 * DAY_MS) }),
    usageModels(at, charted, CHART_MODELS),
    requestPage(at, { accountId }, { limit: LATEST }),
  ]);
  const days = compared.filter(({ day }) => day >= dayOf(now - 29 * DAY_MS));
  const [balances, topUp] = await Promise.all([
    balanceDays(at, account, days, { now, days: BALANCE_DAYS }),
    topUpOf(store, accountId),
  ]);
  const chartDays = days.filter(({ day }) => day >= charted.from);
  const low = account.low_balance;
  const free = freeOf(moneyOf(account));
  return {
    balanceUsd: usd(account.balance),
    heldUsd: usd(account.held),
    /** Owed for refunds and disputes; taken as running requests release it. */
    owedUsd: usd(account.owed),
    availableUsd: usd(free),
    /** The account had money at some time: an empty balance has been used up, and is not just new. */
    everFunded: funded,
    /** What the account gets when its address is confirmed; null: nothing, or it had it. */
    welcomeUsd: welcome ?? null,
    /** Set when the balance is under the account's own threshold. */
    lowBalance: low !== null && account.balance < low ? { thresholdUsd: usd(low) } : null,
    /** `before`: the day before, and the 7 and the 30 days before those. */
    spend: { ...spendItem(spendOf(days, now)), before: spendItem(spendBefore(compared, now)) },
    nextLimit: nextLimit(
      [...walletLimits(account, now), ...budgetLimits(account, now)].map((limit) => ({
        ...limit,
        spent: days,
      })),
      now,
    ),
    limits: limitsOf(parts, account),
    openHolds: account.open_holds,
    /** The balance at the end of each of the last days, and now. */
    balanceDays: balances.map(({ day, balance }) => ({ day: dayText(day), balanceUsd: usd(balance) })),
    /** When the balance is used up at the pace of the last week, or why that cannot be said. */
    forecast: balanceForecast(free, days, now),
    /** A saved card is charged before the balance runs out. */
    automaticTopUp: parts.payments !== undefined && topUp?.enabled === 1,
    token: await ownToken(parts, user),
    /** In the form of the usage report's rows. */
    chart: (await usageDaysByModel(at, charted, chartDays, models)).map(modelRow),
    latest: latest.rows.map((row) => requestItem(row)),
  };
}

function spendItem({ today, days7, days30 }: ReturnType<typeof spendOf>) {
  return { todayUsd: usd(today), days7Usd: usd(days7), days30Usd: usd(days30) };
}

/** The account's limits; where it has none of its own, the catalog's defaults. */
function limitsOf({ catalog, clock }: RouteParts, account: AccountRow) {
  const { limits } = catalog.current();
  return {
    chatPerMinute: account.chat_per_minute ?? limits.chatPerMinute,
    imagesPerMinute: account.images_per_minute ?? limits.imagesPerMinute,
    concurrent: account.concurrent ?? limits.concurrent,
    monthlyUsd: account.monthly_limit === null ? null : usd(account.monthly_limit),
    monthSpentUsd: usd(monthSpent(account, clock.now())),
  };
}

async function quickstart(parts: RouteParts, user: Visitor) {
  const { id } = await spenderOf(parts, user);
  const [token, first] = await Promise.all([ownToken(parts, user), firstRequest(parts.store.db, id)]);
  const catalog = await catalogSeenBy(parts, user);
  return {
    hasToken: token !== null,
    /** When the first request arrived with the token; null: still waiting. Playground calls count too. */
    firstRequest: first
      ? {
          id: first.id,
          at: first.created_at,
          endpoint: first.endpoint,
          model: first.model,
          state: first.state,
        }
      : null,
    /** A chat and an image model that work right now, for the snippets. */
    chat: modelSample(catalog, 'chat_completion'),
    image: modelSample(catalog, 'image_generation'),
  };
}

export async function requireAccount({ store }: RouteParts, id: string): Promise<AccountRow> {
  const account = await accountById(store.db, id);
  if (!account) throw new Fault('not_found', 'There is no such account.');
  return account;
}
