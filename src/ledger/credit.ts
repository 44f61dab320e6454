import { sql, type Transaction } from 'kysely';
import type { AccountId } from '../std/ids.ts';
import { MAX_BALANCE, nanoUsd, type NanoUsd } from '../std/money.ts';
import type { Schema } from '../store/schema.ts';
import { removedEmail } from './decide.ts';

interface CreditWithin {
  readonly accountId: AccountId;
  readonly amount: number;
  /** An entry with this key exists at most once; a second one fails, and undoes the transaction. */
  readonly once: string;
  readonly cause: string;
  readonly actor: string;
  readonly now: number;
}

/**
 * The new balance, after a credit that is part of a transaction which does more: all of it happens, or nothing. Only
 * the first administrator's starting credit and the welcome credit of a confirmed address are: every other one goes through the ledger. `undefined`: the account cannot take so much or was removed, and nothing was changed.
 */
export async function creditWithin(
  tx: Transaction<Schema>,
  { accountId, amount, once, cause, actor, now }: CreditWithin,
): Promise<NanoUsd | undefined> {
  const account = await tx
    .updateTable('account')
    .set({ balance: sql<number>`balance + ${amount}` })
    .where('id', '=', accountId)
    .where('role', '<>', 'system')
    .where('email', '<>', removedEmail(accountId))
    .where('balance', '<=', MAX_BALANCE - amount)
    .returning('balance')
    .executeTakeFirst();
  if (!account) return undefined;
  await tx
    .insertInto('entry')
    .values({ account_id: accountId, kind: 'credit', amount, once, cause, actor, created_at: now })
    .execute();
  return nanoUsd(account.balance);
}
