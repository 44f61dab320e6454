import { formatUsd, nanoUsd } from '../std/money.ts';
import type { Kysely } from 'kysely';
import type { AccountRow, Schema } from '../store/schema.ts';

/** Who the account is, and what its owner has set up. Of each there are few. */
export async function accountLines(db: Kysely<Schema>, account: AccountRow): Promise<AccountLine[]> {
  return [
    await profileLine(db, account),
    ...tokenLines(account),
    ...(await passkeyLines(db, account.id)),
    ...(await topUpLines(db, account.id)),
    ...(await webhookLines(db, account.id)),
    ...(await receiptLinkLines(db, account.id)),
  ];
}

async function profileLine(db: Kysely<Schema>, account: AccountRow): Promise<AccountLine> {
  const user = await db
    .selectFrom('auth_user')
    .select('name')
    .where('id', '=', account.id)
    .executeTakeFirst();
  return {
    type: 'account',
    id: account.id,
    email: account.email,
    name: user?.name ?? null,
    role: account.role,
    balance_usd: dollars(account.balance),
    held_usd: dollars(account.held),
    monthly_limit_usd: account.monthly_limit === null ? null : dollars(account.monthly_limit),
    created_at: time(account.created_at),
  };
}

function tokenLines(account: AccountRow): AccountLine[] {
  if (account.token_hash === null) return [];
  return [
    {
      type: 'token',
      hint: account.token_hint,
      created_at: timeOrNull(account.token_created_at),
      used_at: timeOrNull(account.token_used_at),
    },
  ];
}

async function passkeyLines(db: Kysely<Schema>, accountId: string): Promise<AccountLine[]> {
  const rows = await db
    .selectFrom('auth_passkey')
    .select(['name', 'createdAt'])
    .where('userId', '=', accountId)
    .execute();
  return rows.map(({ name, createdAt }) => ({
    type: 'passkey',
    name,
    created_at: createdAt === null ? null : new Date(createdAt).toISOString(),
  }));
}

async function topUpLines(db: Kysely<Schema>, accountId: string): Promise<AccountLine[]> {
  const row = await db
    .selectFrom('top_up')
    .select(['customer_id', 'enabled', 'threshold', 'amount', 'monthly_max', 'updated_at'])
    .where('account_id', '=', accountId)
    .executeTakeFirst();
  if (!row) return [];
  return [
    {
      type: 'automatic_top_up',
      customer_id: row.customer_id,
      enabled: row.enabled === 1,
      below_usd: dollars(row.threshold),
      amount_usd: dollars(row.amount),
      monthly_max_usd: dollars(row.monthly_max),
      updated_at: time(row.updated_at),
    },
  ];
}

async function webhookLines(db: Kysely<Schema>, accountId: string): Promise<AccountLine[]> {
  const rows = await db
    .selectFrom('webhook')
    .select(['url', 'format', 'events', 'hint', 'created_at'])
    .where('account_id', '=', accountId)
    .orderBy('created_at')
    .execute();
  return rows.map(({ url, format, events, hint, created_at }) => ({
    type: 'webhook',
    url,
    format: format ?? 'standard',
    events: JSON.parse(events) as unknown,
    secret_hint: hint,
    created_at: time(created_at),
  }));
}

async function receiptLinkLines(db: Kysely<Schema>, accountId: string): Promise<AccountLine[]> {
  const rows = await db
    .selectFrom('receipt_link')
    .select(['request_id', 'created_at', 'expires_at', 'ended_at'])
    .where('account_id', '=', accountId)
    .orderBy('created_at')
    .execute();
  return rows.map((row) => ({
    type: 'receipt_link',
    request_id: row.request_id,
    created_at: time(row.created_at),
    expires_at: time(row.expires_at),
    ended_at: timeOrNull(row.ended_at),
  }));
}

function timeOrNull(ms: number | null): string | null {
  return ms === null ? null : time(ms);
}

/** One line of an account's export. */
export type AccountLine = { readonly type: string } & Readonly<Record<string, unknown>>;

export function time(ms: number): string {
  return new Date(ms).toISOString();
}

export function dollars(amount: number): string {
  return amount < 0 ? `-${formatUsd(nanoUsd(-amount))}` : formatUsd(nanoUsd(amount));
}
