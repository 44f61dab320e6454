import { createHmac } from 'node:crypto';
import { sql, type Kysely, type Transaction } from 'kysely';
import { z } from 'zod';
import { DAY_MS } from '../../std/calendar.ts';
import { creditWithin } from '../../ledger/credit.ts';
import type { AccountId } from '../../std/ids.ts';
import { formatUsd, parseUsd } from '../../std/money.ts';
import { lockRow } from '../../store/row-lock.ts';
import type { Schema } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { writeSetting } from './site.ts';

/** What a new customer is given once the address is confirmed. Zero: nothing. */
interface WelcomeCredit {
  readonly amountUsd: string;
  /** At most this many accounts a day, UTC. */
  readonly perDay: number;
}

const MAX_USD = 100;
const MAX_PER_DAY = 10_000;

export const welcomeCreditSchema = z.strictObject({
  amountUsd: z
    .string()
    .regex(/^\d{1,3}(\.\d{1,9})?$/, { error: 'an amount is dollars like 1 or 0.50' })
    .refine((text) => Number(text) <= MAX_USD, { error: `a welcome credit is at most $${MAX_USD}` }),
  perDay: z.number().int().min(1).max(MAX_PER_DAY),
});

const OFF: WelcomeCredit = { amountUsd: '0', perDay: 50 };
/** A setting of its own: nodes of the previous version refuse unknown fields in the other settings. */
const KEY = 'welcome_credit';
const LOCK_KEY = 'welcome_credit_lock';
const ACTOR = 'welcome';
const CAUSE = 'welcome credit';

export async function readWelcomeCredit(db: Kysely<Schema>): Promise<WelcomeCredit> {
  const row = await db.selectFrom('setting').select('value').where('key', '=', KEY).executeTakeFirst();
  return row ? welcomeCreditSchema.parse(JSON.parse(row.value)) : OFF;
}

export async function writeWelcomeCredit(
  store: Store,
  settings: WelcomeCredit,
  now: number,
): Promise<WelcomeCredit> {
  await writeSetting(store, KEY, settings, now);
  return settings;
}

/** What this account would get by confirming its address; `undefined`: nothing, or it had it. */
export async function expectedWelcomeCredit(
  db: Kysely<Schema>,
  accountId: string,
): Promise<string | undefined> {
  const { amountUsd } = await readWelcomeCredit(db);
  if (Number(amountUsd) === 0) return undefined;
  const account = await db
    .selectFrom('account')
    .innerJoin('auth_user', 'auth_user.id', 'account.id')
    .select('emailVerified')
    .where('account.id', '=', accountId)
    .where('account.role', '=', 'user')
    .executeTakeFirst();
  if (!account || account.emailVerified) return undefined;
  return (await hasWelcomeCredit(db, accountId)) ? undefined : amountUsd;
}

interface NewcomerParts {
  /** The same for ever: mailboxes are remembered by a keyed hash only. */
  readonly mailboxKey: Uint8Array;
  readonly now: number;
}

/**
 * Gives an account whose address was just confirmed its welcome credit, in the transaction that confirms it: both are done,
 * or neither. An account gets it once, whatever its address becomes, and so does a mailbox, whatever becomes of the account.
 */
export async function giveWelcomeCredit(
  tx: Transaction<Schema>,
  accountId: string,
  { mailboxKey, now }: NewcomerParts,
): Promise<void> {
  const { amountUsd, perDay } = await readWelcomeCredit(tx);
  const amount = parseUsd(amountUsd);
  if (amount === undefined || amount === 0) return;
  await lockRow(tx, LOCK_KEY, now);
  const account = await tx
    .selectFrom('account')
    .select('email')
    .where('id', '=', accountId)
    .where('role', '=', 'user')
    .where('status', '=', 'active')
    .executeTakeFirst();
  if (!account || (await hasWelcomeCredit(tx, accountId))) return;
  const once = `welcome:${mailboxHash(account.email, mailboxKey)}`;
  const refusal = (await isUsed(tx, once))
    ? 'mailbox_had_it'
    : (await givenSince(tx, now - (now % DAY_MS))) >= perDay
      ? 'daily_limit'
      : undefined;
  const recorded = { at: now, actor: ACTOR, target: accountId };
  if (refusal !== undefined) {
    const detail = JSON.stringify({ reason: refusal });
    await tx
      .insertInto('audit')
      .values({ ...recorded, action: 'account.welcome-credit-withheld', detail })
      .execute();
    return;
  }
  const entry = { accountId: accountId as AccountId, amount, once, cause: CAUSE, actor: ACTOR, now };
  // An account at the highest balance keeps what it has.
  if ((await creditWithin(tx, entry)) === undefined) return;
  const detail = JSON.stringify({ amount_usd: formatUsd(amount) });
  await tx
    .insertInto('audit')
    .values({ ...recorded, action: 'account.welcome-credit', detail })
    .execute();
}

async function hasWelcomeCredit(db: Kysely<Schema>, accountId: string): Promise<boolean> {
  const entry = await db
    .selectFrom('entry')
    .select('id')
    .where('account_id', '=', accountId)
    .where('actor', '=', ACTOR)
    .limit(1)
    .executeTakeFirst();
  return entry !== undefined;
}

async function isUsed(tx: Transaction<Schema>, once: string): Promise<boolean> {
  const entry = await tx.selectFrom('entry').select('id').where('once', '=', once).executeTakeFirst();
  return entry !== undefined;
}

async function givenSince(tx: Transaction<Schema>, since: number): Promise<number> {
  const { given } = await tx
    .selectFrom('entry')
    .select(sql<number>`count(*)`.as('given'))
    .where('created_at', '>=', since)
    .where('actor', '=', ACTOR)
    .executeTakeFirstOrThrow();
  return given;
}

const GMAIL = new Set(['gmail.com', 'googlemail.com']);

/**
 * Addresses that reach one mailbox have one hash: what follows a `+` is the mailbox's own business, and Gmail ignores dots.
 */
function mailboxHash(email: string, key: Uint8Array): string {
  const at = email.lastIndexOf('@');
  const [local = ''] = email.slice(0, at).split('+');
  const domain = email.slice(at + 1);
  const mailbox = GMAIL.has(domain) ? `${local.replaceAll('.', '')}@gmail.com` : `${local}@${domain}`;
  return createHmac('sha256', Buffer.from(key).toString('hex'))
    .update(`welcome credit ${mailbox}`)
    .digest('base64url');
}
