import { sql, type Selectable } from 'kysely';
import type { AuditTable } from '../store/schema.ts';
import { formatUsd, nanoUsd } from '../std/money.ts';
import type { Store } from '../store/store.ts';

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
 * Records who did what; the table is append-only. So no email address is written, in whatever field it comes: it could
 * not be erased when its account is removed. Accounts are named by their id, and shown with their address while they
 * have one.
 */
export async function writeAudit({ db }: Pick<Store, 'db'>, entry: AuditEntry, now: number): Promise<void> {
  const detail = JSON.stringify(entry.detail).replaceAll(EMAIL_ADDRESS, '(email address)');
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

/** What something was, or is, each in words or as an amount. */
export type AuditedState = Readonly<Record<string, string>>;

/** What has changed, as `old → new`; `undefined`: nothing. */
export function changesBetween(before: AuditedState, after: AuditedState): AuditedState | undefined {
  const changed = Object.keys({ ...before, ...after }).filter((name) => before[name] !== after[name]);
  if (changed.length === 0) return undefined;
  return Object.fromEntries(
    changed.map((name) => [name, `${before[name] ?? 'none'} → ${after[name] ?? 'none'}`]),
  );
}

/** An account or team as the audit log tells it: what operators can change of it. */
export async function accountState(
  { store: { db } }: { readonly store: Pick<Store, 'db'> },
  id: string,
): Promise<AuditedState> {
  const [row, role] = await Promise.all([
    db.selectFrom('account').selectAll().where('id', '=', id).executeTakeFirst(),
    db.selectFrom('operator').select('role').where('account_id', '=', id).executeTakeFirst(),
  ]);
  if (!row) return {};
  const money = (amount: number): string => `$${formatUsd(nanoUsd(amount))}`;
  const limit = (value: number | null): string => (value === null ? 'default' : String(value));
  const list = (lines: string | null): string => lines?.replaceAll('\n', ', ') ?? 'any';
  return {
    balance: money(row.balance),
    status: row.ended_at === null ? row.status : 'ended',
    role: row.role === 'admin' ? 'owner' : (role?.role ?? 'none'),
    team_role: row.team_role ?? 'none',
    token: row.token_hint ?? 'none',
    card_payments: row.cards_off_at === null ? 'on' : 'off',
    monthly_limit: row.monthly_limit === null ? 'none' : money(row.monthly_limit),
    price_group: row.price_group ?? 'none',
    chat_per_minute: limit(row.chat_per_minute),
    images_per_minute: limit(row.images_per_minute),
    concurrent: limit(row.concurrent),
    budget: row.budget === null ? 'none' : `${money(row.budget)} per ${row.budget_per ?? 'total'}`,
    models: list(row.token_models),
    networks: list(row.token_networks),
    expires: row.token_expires_at === null ? 'never' : new Date(row.token_expires_at).toISOString(),
  };
}

export type AuditRow = Selectable<AuditTable>;

const MOST_OF_TEAM = 100;

/** What was done to a team, the newest first. On the command line it is named; names are given again once a team is closed. */
export async function teamAudit(
  db: Store['db'],
  { id, name, since }: { readonly id: string; readonly name: string; readonly since: number },
): Promise<AuditRow[]> {
  const named = `{"team":${JSON.stringify(name)}`;
  return await db
    .selectFrom('audit')
    .selectAll()
    .where('action', 'like', 'team.%')
    .where('at', '>=', since)
    .where((where) =>
      where.or([
        where('target', '=', id),
        sql<boolean>`substr(detail, 1, length(CAST(${named} AS TEXT))) = ${named}`,
      ]),
    )
    .orderBy('id', 'desc')
    .limit(MOST_OF_TEAM)
    .execute();
}
