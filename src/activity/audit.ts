import type { Kysely } from 'kysely';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { Reader } from './reader.ts';

export interface AuditEntry {
  readonly actor: string;
  /** `account.credit`, `catalog.save`, … */
  readonly action: string;
  readonly target: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

const MAX_DETAIL = 4_000;

/** Records who did what; the table is append-only. */
export async function writeAudit({ db }: Pick<Store, 'db'>, entry: AuditEntry, now: number): Promise<void> {
  const detail = JSON.stringify(entry.detail);
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

export function auditPage(
  { db, reader }: { db: Kysely<Schema>; reader: Reader },
  filter: { readonly actor?: string | undefined; readonly action?: string | undefined },
  page: { readonly before?: number | undefined; readonly limit: number },
) {
  let query = db.selectFrom('audit').selectAll();
  if (filter.actor !== undefined) query = query.where('actor', '=', filter.actor);
  if (filter.action !== undefined) query = query.where('action', '=', filter.action);
  if (page.before !== undefined) query = query.where('id', '<', page.before);
  return reader.all(query.orderBy('id', 'desc').limit(page.limit));
}
