import { z } from 'zod';
import { teamAudit } from '../activity/audit.ts';
import { csvLine } from '../activity/csv.ts';
import { requestById, requestPage } from '../activity/request-log.ts';
import { tagsOf } from '../activity/request-tags.ts';
import { usageRows } from '../activity/usage.ts';
import { usageModels } from '../activity/usage-sums.ts';
import { teamRoleMay } from '../identity/accounts/roles.ts';
import type { Visitor } from '../identity/sign-in/session.ts';
import { DAY_MS, dayOf } from '../std/calendar.ts';
import { Fault } from '../std/fault.ts';
import { dayText, usd } from './amounts.ts';
import { limitOf, pagingFields } from './table-query.ts';
import type { RouteParts } from './parts.ts';
import { receiptDetail, requestItem } from './receipt.ts';
import { route } from './route.ts';
import { requireTeamRight } from './team-view.ts';
import { csvResponse, rangeFields, rangeOf } from './usage.ts';
import { monthsOf, USAGE_COUNTS, usageCells, type DayRange } from './usage-file.ts';

const USAGE_DAYS = 30;
const MOST_MODELS = 50;

/** What the accounts of a team used and asked; whoever may not see everything sees the own account alone. */
export const teamActivityRoutes = [
  route('GET /api/console/team/usage', {
    who: 'user',
    compressed: true,
    handle: (parts, { user }) => usage(parts, user),
  }),
  /** A line for each day, account and model. */
  route('GET /api/console/team/usage.csv', {
    who: 'user',
    query: z.strictObject(rangeFields),
    async handle(parts, { user, query }) {
      const range = rangeOf(query, parts.clock.now());
      const lines = usageFile(parts, await seenAccounts(parts, user, MOST_ACCOUNTS_IN_FILE), range);
      return csvResponse(`team-usage-${range.from}-${range.to}`, lines);
    },
  }),
  route('GET /api/console/team/log', {
    who: 'user',
    compressed: true,
    handle: (parts, { user }) => changes(parts, user),
  }),
  route('GET /api/console/team/requests', {
    who: 'user',
    compressed: true,
    query: z.strictObject({ ...pagingFields, account: z.string().max(100).optional() }),
    async handle(parts, { user, query }) {
      const seen = await seenAccounts(parts, user);
      const accounts = query.account === undefined ? seen : seen.filter(({ id }) => id === query.account);
      if (accounts.length === 0) throw new Fault('not_found', 'The team has no such account.');
      return await newestRequests(parts, accounts, query);
    },
  }),
  route('GET /api/console/team/requests/{id}', {
    who: 'user',
    async handle(parts, { user, params }) {
      const seen = await seenAccounts(parts, user);
      const row = await requestById(parts.store.db, params.id);
      if (!row || !seen.some(({ id }) => id === row.account_id))
        throw new Fault('not_found', 'There is no such request.');
      const tags = await tagsOf(parts.reader, parts.store.db, { accountId: row.account_id, ids: [row.id] });
      return receiptDetail(row, parts.catalog.current(), tags.get(row.id));
    },
  }),
];

/** Changes to the team by its members or by operators, the newest first. */
async function changes(parts: RouteParts, user: Visitor) {
  const { teamId } = await requireTeamRight(parts, user, 'see_log');
  const { db } = parts.store;
  const accounts = await db
    .selectFrom('account')
    .select(['id', 'name', 'person_id', 'created_at'])
    .where((where) => where.or([where('wallet_id', '=', teamId), where('id', '=', teamId)]))
    .execute();
  const team = accounts.find(({ id }) => id === teamId);
  const entries = await teamAudit(db, { id: teamId, name: team?.name ?? '', since: team?.created_at ?? 0 });
  const names = new Map(accounts.map(({ id, name }) => [id, name]));
  const people = new Map(accounts.map(({ person_id, name }) => [person_id ?? '', name]));
  return {
    items: entries.map(({ id, at, actor, action, detail }) => {
      // Written by the program, as an object.
      const { account, about, ...more } = JSON.parse(detail) as Record<string, unknown>;
      return {
        id,
        at,
        /** Null: the operator. */
        by: people.get(actor) ?? null,
        action,
        /** The account that was changed; null: none, or it is gone. */
        account: names.get(String(account)) ?? (typeof about === 'string' ? about : null),
        role: typeof more['role'] === 'string' ? more['role'] : null,
      };
    }),
  };
}

/** The last 30 days, by account and model. */
async function usage(parts: RouteParts, user: Visitor) {
  const now = parts.clock.now();
  const range = { from: dayOf(now - (USAGE_DAYS - 1) * DAY_MS), to: dayOf(now) };
  const at = { db: parts.store.db, reader: parts.reader.sums };
  const rows = await Promise.all(
    (await seenAccounts(parts, user)).map(async ({ id, name, kind, ended_at }) => {
      const models = await usageModels(at, { accountId: id, ...range }, MOST_MODELS);
      return models.map((model) => ({
        account: id,
        name: name ?? '',
        kind,
        ended: ended_at !== null,
        endpoint: model.endpoint,
        model: model.model,
        requests: model.requests,
        inputTokens: model.input_tokens,
        outputTokens: model.output_tokens,
        images: model.images,
        charged: model.charged,
      }));
    }),
  );
  return {
    items: rows
      .flat()
      .toSorted((a, b) => b.charged - a.charged)
      .map(({ charged, ...row }) => ({ ...row, chargedUsd: usd(charged) })),
  };
}

/** One account and month after the other: so much is in memory at a time. */
async function* usageFile(
  { store, reader }: RouteParts,
  accounts: readonly SeenAccount[],
  range: DayRange,
): AsyncGenerator<string> {
  yield csvLine(['day', 'account', 'kind', 'name', 'endpoint', 'model', ...USAGE_COUNTS]);
  const at = { db: store.db, reader: { ...reader, all: reader.sums.all } };
  for (const month of monthsOf(range)) {
    for (const { id, kind, name } of accounts) {
      const rows = await usageRows(at, id, month);
      const lines = rows.map((row) =>
        csvLine([dayText(row.day), id, kind, name, row.endpoint, row.model, ...usageCells(row)]),
      );
      if (lines.length > 0) yield lines.join('');
    }
  }
}

type SeenAccount = Awaited<ReturnType<typeof seenAccounts>>[number];

async function newestRequests(
  parts: RouteParts,
  accounts: readonly SeenAccount[],
  query: { readonly cursor?: string | undefined; readonly limit?: string | undefined },
) {
  const limit = limitOf(query);
  const before = query.cursor === '' ? undefined : query.cursor;
  const at = { db: parts.store.db, reader: parts.reader };
  const names = new Map(accounts.map(({ id, name }) => [id, name ?? '']));
  const pages = await Promise.all(
    accounts.map(({ id }) => requestPage(at, { accountId: id }, { before, limit: limit + 1 })),
  );
  const found = pages.flatMap(({ rows }) => rows).toSorted((a, b) => (a.id < b.id ? 1 : -1));
  const rows = found.slice(0, limit);
  return {
    items: rows.map((row) => ({ ...requestItem(row), account: names.get(row.account_id) ?? '' })),
    next: found.length > limit ? (rows.at(-1)?.id ?? null) : null,
  };
}

/** Those of a team that were there lately, also if they have ended: each is read by itself. */
const MOST_ACCOUNTS_READ = 200;
const MOST_ACCOUNTS_IN_FILE = 10_000;

async function seenAccounts(parts: RouteParts, user: Visitor, limit = MOST_ACCOUNTS_READ) {
  const member = await requireTeamRight(parts, user, 'see_own');
  const accounts = parts.store.db
    .selectFrom('account')
    .select(['id', 'name', 'kind', 'ended_at'])
    .where('wallet_id', '=', member.teamId)
    .orderBy((order) => order.fn.coalesce('ended_at', order.val(Number.MAX_SAFE_INTEGER)), 'desc')
    .orderBy('id')
    .limit(limit);
  return teamRoleMay(member.role, 'see_all')
    ? await accounts.execute()
    : await accounts.where('id', '=', member.account.id).execute();
}
