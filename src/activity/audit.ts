import { sql, type Selectable } from 'kysely';
import type { AuditTable } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import {
  anyContains,
  emailIn,
  equals,
  numberColumn,
  textColumn,
  type ListedTable,
  type TableFilter,
} from './table-page.ts';

interface AuditEntry {
  readonly actor: string;
  /** `account.credit`, `catalog.save`, … */
  readonly action: string;
  readonly target: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

const MAX_DETAIL = 4_000;
const EMAIL_ADDRESS = /[^\s@"'<>,;:()[\]\\]+@[^\s@"'<>,;:()[\]\\]+/g;

/**
 * Records who did what; the table is append-only. So no e-mail address is written, in whatever field it comes: it could
 * not be erased when its account is removed. Accounts are named by their id, and shown with their address while they
 * have one.
 */
export async function writeAudit({ db }: Pick<Store, 'db'>, entry: AuditEntry, now: number): Promise<void> {
  const detail = JSON.stringify(entry.detail).replaceAll(EMAIL_ADDRESS, '(e-mail address)');
  await db
    .insertInto('audit')
    .values({
      at: now,
      actor: entry.actor,
      action: entry.action,
      target: entry.target,
      detail: detail.length > MAX_DETAIL ? '{"truncated":true}' : detail,
    })
    .execute();
}

export type AuditRow = Selectable<AuditTable>;

interface AuditFilter {
  /** An account's id, or `cli`. */
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  /** Part of the action, of whom it was about, of the details, or of an e-mail address. */
  readonly search?: string | undefined;
}

/** Written in the order of time, so the number of a row is its place. */
export const AUDIT_TABLE: ListedTable = {
  from: sql`audit AS t`,
  columns: sql`t.*`,
  time: sql`t.at`,
  mark: [numberColumn(sql`t.id`)],
  sorted: {
    actor: textColumn(sql`coalesce((SELECT a.email FROM account a WHERE a.id = t.actor), t.actor)`),
    action: textColumn(sql`t.action`),
  },
};

export function auditFilter({ actor, action, search }: AuditFilter): TableFilter {
  const columns = [sql`t.action`, sql`t.actor`, sql`t.target`, sql`t.detail`];
  const emails = [emailIn('t.actor'), emailIn('t.target')];
  return {
    where: [...equals('t.actor', actor), ...equals('t.action', action)],
    checks: search === undefined ? [] : [anyContains(search, [...columns, ...emails])],
  };
}
