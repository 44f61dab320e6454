import { Fault } from '../std/fault.ts';
import { MAX_BALANCE, nanoUsd, type NanoUsd } from '../std/money.ts';
import type { AccountState } from './decide.ts';
import type { NewEntry, WalletMove } from './port.ts';

/** The balance after an entry from outside a request, or the fault that says why it cannot be. */
export function balanceAfter(
  account: Pick<AccountState, 'balance' | 'held' | 'owed'> & { readonly isRemoved: boolean },
  { kind, amount }: Pick<NewEntry, 'kind' | 'amount'>,
): NanoUsd {
  if (!Number.isSafeInteger(amount) || amount === 0)
    throw refused('The amount is not a valid amount of money.');
  if (amount < 0 && kind !== 'adjustment') throw refused(`A ${kind} cannot take money away.`);
  if (account.isRemoved && amount > 0)
    throw new Fault('invalid_field', 'This account was removed.', { param: 'account' });
  if (account.balance + amount > MAX_BALANCE)
    throw refused('The balance would exceed the largest balance allowed.');
  if (amount < 0 && account.balance + amount < account.held + account.owed) {
    throw refused('The balance would fall below zero or below what running requests hold.');
  }
  return nanoUsd(account.balance + amount);
}

/** An entry that is booked once for its key. */
export type KeyedEntry = NewEntry & { readonly once: string };

/** The two entries of a move of money. */
export function moveEntries({
  id,
  fromId,
  toId,
  amount,
  outCause,
  inCause,
  actor,
}: WalletMove): readonly [KeyedEntry, KeyedEntry] {
  const kind = 'adjustment';
  return [
    { accountId: fromId, kind, amount: 0 - amount, cause: outCause, actor, once: `move:${id}:out` },
    { accountId: toId, kind, amount, cause: inCause, actor, once: `move:${id}:in` },
  ];
}

/** The texts in the entry of a redeemed code; `once` prevents that a code is credited twice. */
export function redeemedEntry(codeHash: string, batch: string): Pick<NewEntry, 'once' | 'cause' | 'actor'> {
  return { once: `code:${codeHash}`, cause: `code of ${batch}`, actor: `code:${codeHash.slice(0, 12)}` };
}

function refused(message: string): Fault {
  return new Fault('invalid_field', message, { param: 'amount' });
}

/** Entries of requests say what was sold. */
export function causeOf(request: { readonly endpoint: string; readonly model: string }): string {
  return `${request.endpoint}/${request.model}`;
}

export const REQUEST_ACTOR = 'request';
