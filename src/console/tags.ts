import { z } from 'zod';
import { spendersOf } from '../activity/accounts.ts';
import { writeAudit } from '../activity/audit.ts';
import { csvLine } from '../activity/csv.ts';
import { usageByTag, usageByTagAndModel } from '../activity/request-tags.ts';
import { usageOfAccounts } from '../activity/usage.ts';
import { chooseTags, chosenTags } from '../identity/accounts/account-limits.ts';
import { spanOf } from '../ledger/archive.ts';
import { DAY_MS, dayOf } from '../std/calendar.ts';
import { dayText, usd } from './amounts.ts';
import type { RouteParts } from './parts.ts';
import { csvResponse, rangeFields, rangeOf } from './usage.ts';
import type { DayRange } from './usage-file.ts';
import { walletRoute, type ChosenWallet } from './wallet.ts';

/** Values of a tag that a page lists; the rest is one line. */
const MOST_VALUES = 100;
/** How many lines of a file are in memory at a time. */
const LINES_TOGETHER = 5_000;

export const tagNames = z.array(z.string().max(200)).max(100);
const usageFields = { name: z.string().min(1).max(64), ...rangeFields };

/**
 * Tags of requests: which ones are kept, chosen by whoever may change the wallet, and what was used under each value. A role
 * that does not see everything sees the own requests alone.
 */
export const tagRoutes = [
  walletRoute('GET /api/console/tags', {
    right: 'see_own',
    handle: async ({ store }, { id, mayPay }) => ({
      names: await chosenTags(store.db, id),
      mayChange: mayPay,
    }),
  }),
  walletRoute('PUT /api/console/tags', {
    right: 'change_money',
    body: z.strictObject({ names: tagNames }),
    async handle({ auth, store, clock }, { id, isTeams }, { user, body }) {
      auth.throttle.act('team', user.accountId);
      await chooseTags(store, id, body.names, clock.now());
      const entry = { actor: user.accountId, action: 'team.tags', target: id, detail: body };
      if (isTeams) await writeAudit(store, entry, clock.now());
      return { names: await chosenTags(store.db, id) };
    },
  }),
  walletRoute('GET /api/console/tags/usage', {
    right: 'see_own',
    compressed: true,
    query: usageFields,
    handle: (parts, wallet, { query }) => tagUsage(parts, wallet, query),
  }),
  /** A line for each day, value and model. */
  walletRoute('GET /api/console/tags/usage.csv', {
    right: 'see_own',
    query: usageFields,
    handle: (parts, wallet, { query }) => {
      const range = rangeOf(query, parts.clock.now());
      const lines = tagFile(parts, { ...ownPart(wallet), name: query.name, range });
      return Promise.resolve(csvResponse(`usage-by-tag-${range.from}-${range.to}`, lines));
    },
  }),
];

interface TaggedPart {
  readonly walletId: string;
  readonly accountId: string | undefined;
}

function ownPart({ id, spenderId, seesAll }: ChosenWallet): TaggedPart {
  return { walletId: id, accountId: seesAll ? undefined : spenderId };
}

async function tagUsage(
  parts: RouteParts,
  wallet: ChosenWallet,
  query: { readonly name: string; readonly from?: string | undefined; readonly to?: string | undefined },
) {
  const range = rangeOf(query, parts.clock.now());
  const part = ownPart(wallet);
  const { store, reader } = parts;
  const filter = { ...part, name: query.name, ...range, limit: MOST_VALUES + 1 };
  const [rows, total] = await Promise.all([
    usageByTag(reader.sums, store.db, filter),
    totalOf(parts, part, range),
  ]);
  const shown = rows.slice(0, MOST_VALUES);
  const sum = (of: (row: (typeof rows)[number]) => number): number =>
    shown.reduce((all, row) => all + of(row), 0);
  return {
    from: dayText(range.from),
    to: dayText(range.to),
    items: shown.map(({ value, requests, input_tokens, output_tokens, images, charged }) => ({
      value,
      requests,
      inputTokens: input_tokens,
      outputTokens: output_tokens,
      images,
      chargedUsd: usd(charged),
    })),
    /** There are more values than these. */
    more: rows.length > MOST_VALUES,
    /** Requests without this tag, with a value that is not listed, or whose receipts are no longer kept. */
    others: {
      requests: total.requests - sum(({ requests }) => requests),
      chargedUsd: usd(total.charged - sum(({ charged }) => charged)),
    },
  };
}

/** The total by the daily sums, so that it always equals what was charged. */
async function totalOf(
  { store, reader }: RouteParts,
  { walletId, accountId }: TaggedPart,
  range: DayRange,
): Promise<{ readonly requests: number; readonly charged: number }> {
  const spenders = accountId === undefined ? await spendersOf(store.db, walletId) : [accountId];
  return await usageOfAccounts({ db: store.db, reader: reader.sums }, spenders, range);
}

/** Day after day, so that a year of many values is never in memory at once. */
async function* tagFile(
  { store, reader }: RouteParts,
  { name, range, ...part }: TaggedPart & { readonly name: string; readonly range: DayRange },
): AsyncGenerator<string> {
  yield csvLine(['day', name, 'endpoint', 'model', ...COUNTS, 'charged_usd']);
  for (const day of daysOf(range)) {
    for (let after = { value: '', endpoint: '', model: '' }; ;) {
      const filter = { ...part, name, from: day, to: day, after, limit: LINES_TOGETHER };
      const rows = await usageByTagAndModel(reader.sums, store.db, filter);
      const lines = rows.map((row) => {
        const { value, endpoint, model } = row;
        const counts = COUNTS.map((count) => row[count]);
        return csvLine([dayText(day), value, endpoint, model, ...counts, usd(row.charged)]);
      });
      if (lines.length > 0) yield lines.join('');
      const last = rows.at(-1);
      if (rows.length < LINES_TOGETHER || !last) break;
      after = last;
    }
  }
}

function daysOf({ from, to }: DayRange): number[] {
  const days: number[] = [];
  for (let at = spanOf(from).fromMs; dayOf(at) <= to; at += DAY_MS) days.push(dayOf(at));
  return days;
}

const COUNTS = [
  'requests',
  'failures',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'reasoning_tokens',
  'images',
] as const;
