import { Fault } from '../std/fault.ts';
import { addNano, minNano, nanoUsd, subtractNano, ZERO, type NanoUsd } from '../std/money.ts';
import { OVERRUN_CEILING } from './decide.ts';
import type { Reclaimed } from './port.ts';

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

/**
 * How an amount that goes back to its payer is shared. What running requests hold stays with them, and is owed until they
 * end; what the account cannot give once nothing is on hold is the operator's loss. What is owed is taken all at once, so
 * that each refund or dispute has a bounded number of entries; until then it cannot be spent.
 */
export function reclaimShares(
  { balance, held, owed }: AccountMoney,
  { missing, isOwed }: { readonly missing: NanoUsd; readonly isOwed: boolean },
  lossesSoFar: NanoUsd,
): Reclaimed {
  const owedElsewhere = isOwed ? owed - missing : owed;
  const taken = minNano(missing, nanoUsd(Math.max(0, balance - held - owedElsewhere)));
  const rest = subtractNano(missing, taken);
  if (addNano(lossesSoFar, rest) > OVERRUN_CEILING) throw tooManyLosses();
  if (held === 0 || rest === 0) return { taken, lost: rest, owed: ZERO };
  return isOwed ? { taken: ZERO, lost: ZERO, owed: missing } : { taken, lost: ZERO, owed: rest };
}

interface AccountMoney {
  readonly balance: NanoUsd;
  readonly held: NanoUsd;
  readonly owed: NanoUsd;
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
