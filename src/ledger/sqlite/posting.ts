import { Fault } from '../../std/fault.ts';
import { nanoUsd, type NanoUsd } from '../../std/money.ts';
import { balanceAfter, redeemedEntry } from '../decide.ts';
import type { NewEntry, Redeemed, Redemption } from '../port.ts';
import type { Books } from './books.ts';

/** Each function is one operation inside a batch's transaction. It throws a fault only before it changes anything. */

export function post(books: Books, entry: NewEntry): { entryId: number; balance: NanoUsd } {
  const account = books.account(entry.accountId);
  if (!account) throw new Fault('invalid_field', 'There is no such account.', { param: 'account' });
  const before = entry.once === undefined ? undefined : books.statements.entryByOnce.get(entry.once)?.id;
  if (before !== undefined) return { entryId: before, balance: account.balance };
  const balance = balanceAfter(account, entry);
  const { lastInsertRowid } = books.statements.insertEntry.run(
    account.id,
    entry.kind,
    entry.amount,
    entry.requestId ?? null,
    entry.once ?? null,
    entry.cause,
    entry.actor,
    books.nowMs,
  );
  account.balance = balance;
  books.touch(account);
  return { entryId: Number(lastInsertRowid), balance };
}

export function redeem(books: Books, { codeHash, accountId, at }: Redemption): Redeemed | undefined {
  const code = books.statements.redeemableCode.get(codeHash, at);
  if (!code) return undefined;
  const amount = nanoUsd(code.amount);
  const entry = { accountId, kind: 'credit', amount, ...redeemedEntry(codeHash, code.batch) } as const;
  const { balance } = post(books, entry);
  books.statements.markRedeemed.run(accountId, at, codeHash);
  return { amount, balance };
}
