import { sql, type RawBuilder } from 'kysely';
import {
  anyContains,
  containing,
  emailIn,
  numberColumn,
  textColumn,
  type ListedTable,
  type TableFilter,
} from './table-page.ts';

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
