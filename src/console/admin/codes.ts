import { z } from 'zod';
import { emailsOf } from '../../activity/accounts.ts';
import { Fault } from '../../std/fault.ts';
import { MAX_BATCH_NAME } from '../../ledger/codes.ts';
import { removeInvite, makeInvite, type InviteRow } from '../../identity/sign-in/invites.ts';
import { readUsd, usd } from '../amounts.ts';
import type { SearchedPage, Millis, Usd } from '../contract.ts';
import { emptyBody, route } from '../route.ts';
import { findRows, orderSchema, searchedPage, tableFields } from '../table-query.ts';
import { sql, type RawBuilder } from 'kysely';
import {
  anyContains,
  containing,
  emailIn,
  numberColumn,
  textColumn,
  type ListedTable,
  type TableFilter,
} from '../../activity/table-page.ts';

const expiresAt = z.number().int().positive().max(8_640_000_000_000_000).nullish();
const makeSchema = z.strictObject({
  amountUsd: z.string().max(30),
  count: z.number().int().min(1).max(1_000),
  /** A name for the list; made up when absent. */
  batch: z.string().trim().max(MAX_BATCH_NAME).optional(),
  expiresAt,
});

/** Codes that are worth money, and invites that are worth an account. */
export const codeRoutes = [
  route('GET /api/console/admin/codes', {
    who: 'operator',
    may: 'see_customers',
    summary: 'List batches of codes',
    compressed: true,
    query: z.strictObject({
      ...tableFields,
      sort: orderSchema(['time', 'batch', 'amount', 'redeemed']),
      state: z.enum(['open', 'over']).optional(),
    }),
    async handle(parts, { query }): Promise<SearchedPage<AdminCodeBatch>> {
      const table = batchTable(parts.clock.now());
      const page = await findRows<BatchRow>(parts, table, batchFilter(query), query);
      const emails = await emailsOf(
        parts.store.db,
        page.rows.map((row) => row.created_by),
      );
      return searchedPage(page, (row) => batchItem(row, emails));
    },
  }),
  /** The codes are shown once, and again under the same key. */
  route('POST /api/console/admin/codes', {
    who: 'operator',
    may: 'adjust_money',
    summary: 'Make a batch of codes',
    money: true,
    secret: true,
    repeats: true,
    confirmed: true,
    audit: 'codes.make',
    body: makeSchema,
    async handle(parts, { operator, body, once }) {
      const amount = readUsd(body.amountUsd, 'amountUsd');
      const { batch, codes } = await parts.codes.make({
        amount,
        count: body.count,
        batch: body.batch,
        expiresAt: body.expiresAt ?? undefined,
        actor: operator.id,
        once,
      });
      return { batch, amountUsd: usd(amount), codes: [...codes] };
    },
  }),
  /** What was redeemed already stays with its accounts. */
  route('POST /api/console/admin/codes/{id}/cancel', {
    who: 'operator',
    may: 'adjust_money',
    summary: 'Cancel a batch of codes',
    money: true,
    audit: 'codes.cancel',
    body: emptyBody,
    handle: async ({ codes }, { params }): Promise<{ cancelled: number }> => {
      const cancelled = await codes.cancel(params.id);
      if (cancelled === 0)
        throw new Fault('not_found', 'There is no batch with codes that nobody has redeemed.');
      return { cancelled };
    },
  }),
  route('GET /api/console/admin/invites', {
    who: 'operator',
    may: 'see_customers',
    summary: 'List invites',
    query: z.strictObject({
      ...tableFields,
      sort: orderSchema(['time', 'used']),
      state: z.enum(['used', 'unused']).optional(),
    }),
    async handle(parts, { query }): Promise<SearchedPage<AdminInvite>> {
      const page = await findRows<InviteRow>(parts, INVITE_TABLE, inviteFilter(query), query);
      const emails = await emailsOf(
        parts.store.db,
        page.rows.flatMap((row) => [row.created_by, row.used_by ?? row.created_by]),
      );
      return searchedPage(page, (row) => inviteItem(row, emails));
    },
  }),
  /** The code is shown once; `/sign-up?invite=…` is the link. */
  route('POST /api/console/admin/invites', {
    who: 'operator',
    may: 'make_accounts',
    summary: 'Make an invite',
    secret: true,
    audit: 'invite.make',
    body: z.strictObject({ expiresAt }),
    async handle({ store, clock }, { operator, body }) {
      const invite = { createdBy: operator.id, expiresAt: body.expiresAt ?? null, now: clock.now() };
      const { code, row } = await makeInvite(store, invite);
      const emails = await emailsOf(store.db, [operator.id]);
      return { invite: inviteItem(row, emails), code };
    },
  }),
  route('DELETE /api/console/admin/invites/{id}', {
    who: 'operator',
    may: 'make_accounts',
    summary: 'Remove an invite',
    audit: 'invite.remove',
    async handle({ store }, { params }) {
      await removeInvite(store, params.id);
      return {};
    },
  }),
];

interface AdminCodeBatch {
  batch: string;
  amountUsd: Usd;
  count: number;
  redeemed: number;
  /** Neither redeemed nor expired nor cancelled. */
  open: number;
  /** An email address, where the account has one. */
  createdBy: string;
  createdAt: Millis;
  expiresAt: Millis | null;
}

type Emails = ReadonlyMap<string, string>;

function batchItem(row: BatchRow, emails: Emails): AdminCodeBatch {
  const { batch, count, redeemed, open, created_at: createdAt, expires_at: expiresAt } = row;
  const createdBy = emails.get(row.created_by) ?? row.created_by;
  return { batch, amountUsd: usd(row.amount), count, redeemed, open, createdBy, createdAt, expiresAt };
}

interface AdminInvite {
  id: string;
  hint: string;
  /** Email addresses, where the accounts have one. */
  createdBy: string;
  createdAt: Millis;
  expiresAt: Millis | null;
  usedBy: string | null;
  usedAt: Millis | null;
}

function inviteItem(row: InviteRow, emails: Emails): AdminInvite {
  return {
    id: row.code_hash,
    hint: row.hint,
    createdBy: emails.get(row.created_by) ?? row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    usedBy: row.used_by === null ? null : (emails.get(row.used_by) ?? row.used_by),
    usedAt: row.used_at,
  };
}

export interface BatchRow {
  readonly batch: string;
  readonly amount: number;
  readonly count: number;
  readonly redeemed: number;
  readonly open: number;
  readonly created_by: string;
  readonly created_at: number;
  readonly expires_at: number | null;
}

interface BatchFilter {
  /** Part of the name, of who made it or redeemed a code of it, or of the hint of a code. */
  readonly search?: string | undefined;
  /** `open`: with a code that can be redeemed. */
  readonly state?: 'open' | 'over' | undefined;
}

/** Redeem codes by batch; a batch is a thousand codes at most. The mark is as long for every batch, which its name is not. */
export function batchTable(now: number): ListedTable {
  const isOpen = sql`redeemed_at IS NULL AND (expires_at IS NULL OR expires_at > ${sql.lit(now)})`;
  return {
    from: sql`(SELECT batch, max(amount) AS amount, count(*) AS count, count(redeemed_at) AS redeemed,
        count(CASE WHEN ${isOpen} THEN 1 END) AS open, max(created_by) AS created_by, min(created_at) AS created_at,
        max(expires_at) AS expires_at, min(code_hash) AS mark
      FROM redeem_code GROUP BY batch) AS t`,
    columns: sql`t.*`,
    time: sql`t.created_at`,
    mark: [numberColumn(sql`t.created_at`), textColumn(sql`t.mark`)],
    sorted: {
      batch: textColumn(sql`lower(t.batch)`),
      amount: numberColumn(sql`t.amount`),
      redeemed: numberColumn(sql`t.redeemed`),
    },
    isSearchedWhole: true,
    bounded: true,
  };
}

export function batchFilter({ search, state }: BatchFilter): TableFilter {
  const isOpen = state === 'open' ? sql<boolean>`t.open > 0` : sql<boolean>`t.open = 0`;
  return {
    where: state === undefined ? [] : [isOpen],
    checks: search === undefined ? [] : [batchSearch(search)],
  };
}

/** Who redeemed is looked up once for all codes; addresses are stored in lower case. */
function batchSearch(search: string): RawBuilder<boolean> {
  const redeemers = sql`SELECT a.id FROM account a WHERE a.email LIKE ${containing(search)} ESCAPE '\\'`;
  return sql<boolean>`(${anyContains(search, [sql`t.batch`, emailIn('t.created_by')])}
    OR t.batch IN (SELECT c.batch FROM redeem_code c
      WHERE ${anyContains(search, [sql`c.hint`])} OR c.redeemed_by IN (${redeemers})))`;
}

interface InviteFilter {
  /** Part of the hint, or of the address of who made or used it. */
  readonly search?: string | undefined;
  readonly state?: 'used' | 'unused' | undefined;
}

export const INVITE_TABLE: ListedTable = {
  from: sql`invite AS t`,
  columns: sql`t.*`,
  time: sql`t.created_at`,
  mark: [numberColumn(sql`t.created_at`), textColumn(sql`t.code_hash`)],
  sorted: { used: numberColumn(sql`coalesce(t.used_at, 0)`) },
};

export function inviteFilter({ search, state }: InviteFilter): TableFilter {
  const isUsed = sql<boolean>`t.used_at IS NOT NULL`;
  return {
    where: [],
    checks: [
      ...(state === undefined ? [] : [state === 'used' ? isUsed : sql<boolean>`t.used_at IS NULL`]),
      ...(search === undefined
        ? []
        : [anyContains(search, [sql`t.hint`, emailIn('t.created_by'), emailIn('t.used_by')])]),
    ],
  };
}
