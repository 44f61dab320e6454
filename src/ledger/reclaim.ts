import { Fault } from '../std/fault.ts';
import { addNano, minNano, nanoUsd, subtractNano, type NanoUsd } from '../std/money.ts';
import { OVERRUN_CEILING } from './decide.ts';

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

/** The key of the operator's share of what was taken back. */
export function lossKey(once: string): string {
  return `${once}:loss`;
}

/** The key of the entry that undoes the one with this key. */
export function returnedKey(once: string): string {
  return `${once}:returned`;
}

/**
 * How an amount that goes back to its payer is shared: what running requests hold stays, and what the account cannot
 * give is the operator's loss.
 */
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

/** The result of an earlier call, from the two entries that it booked. */
export function reclaimedBefore(taken: number | undefined, lost: number | undefined) {
  if (taken === undefined && lost === undefined) return undefined;
  return { taken: nanoUsd(0 - (taken ?? 0)), lost: nanoUsd(lost ?? 0) };
}
