import { Fault } from '../std/fault.ts';
import type { Moved } from './money-trail.ts';

/**
 * The keys of entries that card payments cause: one for each object at the provider, so that it counts once however
 * many events report it. `tollgate verify` finds the entries of a payment by them.
 */
export function paymentKey(intentId: string): string {
  return `stripe:${intentId}`;
}

export function reversalKey(reversalId: string): string {
  return `stripe:${reversalId}`;
}

/** The key of what was owed at first and taken later. */
export function laterKey(once: string): string {
  return `${once}:owed`;
}

/** The key of the operator's share of what was taken back. */
export function lossKey(once: string): string {
  return `${once}:loss`;
}

/** The key of the entry that undoes the one with this key. */
export function returnedKey(once: string): string {
  return `${once}:returned`;
}

/** The key of what a wallet owes of the amount with this key: the payer's own, or one that the payer's money went to. */
export function debtKey(once: string, payerId: string, walletId: string): string {
  return walletId === payerId ? once : `${once}:${walletId}`;
}

/** The beginning of the ids of all moves that bring money back for this key. */
export function collectedPrefix(once: string): string {
  return `${once}:`;
}

export function collectedMoveId(once: string, { fromId, toId }: Pick<Moved, 'fromId' | 'toId'>): string {
  return `${collectedPrefix(once)}${fromId}:${toId}`;
}

export function tooManyLosses(): Fault {
  return new Fault('invalid_field', 'The books cannot take a loss of this size.', { param: 'amount' });
}

/**
 * How far a refund or dispute has come: the money is gone, it is gone for good, or it came back. A later stage stands,
 * whichever event comes last.
 */
export const REVERSAL_STAGES = ['gone', 'lost', 'returned'] as const;
export type ReversalStage = (typeof REVERSAL_STAGES)[number];
