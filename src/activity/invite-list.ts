import { sql } from 'kysely';
import {
  anyContains,
  emailIn,
  numberColumn,
  textColumn,
  type ListedTable,
  type TableFilter,
} from './table-page.ts';

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
