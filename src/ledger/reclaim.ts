import { Fault } from '../std/fault.ts';
import { addNano, minNano, nanoUsd, subtractNano, type NanoUsd } from '../std/money.ts';
import { OVERRUN_CEILING } from './decide.ts';

/**
 * The keys of what card payments change: one for each object at the provider, so that however many events tell of it, it
 * counts once. `tollgate verify` finds the entries of a payment by them.
 */
export function paymentKey(intentId: string): string {
  return `stripe:${intentId}`;
}

export function reversalKey(reversalId: string): string {
  return `stripe:${reversalId}`;
}

/** Of the operator's part of what was taken back. */
export function lossKey(once: string): string {
  return `${once}:loss`;
}

/** Of the entry that undoes the one with this key. */
export function returnedKey(once: string): string {
  return `${once}:returned`;
}

/** How an amount that goes back to its payer is shared: what running requests hold stays, the rest is the operator's loss. */
export function reclaimShares(
  account: { readonly balance: NanoUsd; readonly held: NanoUsd },
  amount: NanoUsd,
  lossesSoFar: NanoUsd,
): { readonly taken: NanoUsd; readonly lost: NanoUsd } {
  const taken = minNano(amount, subtractNano(account.balance, account.held));
  const lost = subtractNano(amount, taken);
  if (addNano(lossesSoFar, lost) > OVERRUN_CEILING) throw tooManyLosses();
  return { taken, lost };
}

export function tooManyLosses(): Fault {
  return new Fault('invalid_field', 'The books cannot take a loss of this size.', { param: 'amount' });
}

/** What two entries say that were booked before. */
export function reclaimedBefore(taken: number | undefined, lost: number | undefined) {
  if (taken === undefined && lost === undefined) return undefined;
  return { taken: nanoUsd(0 - (taken ?? 0)), lost: nanoUsd(lost ?? 0) };
}
