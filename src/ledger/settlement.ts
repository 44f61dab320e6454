import { Fault } from '../std/fault.ts';
import { MAX_BALANCE, minNano, nanoUsd, subtractNano, ZERO, type NanoUsd } from '../std/money.ts';
import type { NewEntry, Outcome } from './port.ts';
import { costOf, MAX_COUNT, type Price, type Usage } from './price.ts';

/** What closing a hold means in money, the same for both stores. */
export interface Charge {
  readonly charged: NanoUsd;
  /** What the backend used beyond the hold. */
  readonly overrun: NanoUsd;
}

export const NO_CHARGE: Charge = { charged: ZERO, overrun: ZERO };

/** Price snapshot × usage, never more than the hold: the account promised no more. */
export function chargeFor(price: Price, held: NanoUsd, usage: Usage): Charge {
  const cost = costOf(price, checkedUsage(usage));
  const charged = minNano(cost, held);
  return { charged, overrun: subtractNano(cost, charged) };
}

/** The last gate before a number meets a price. Callers clean up what backends say; here it can only be a mistake of ours. */
export function checkedUsage(usage: Usage): Usage {
  if (!isUsage(usage)) {
    throw new Fault('internal_error', 'Something went wrong on our side. Retry later.', {
      detail: `not a usage: ${JSON.stringify(usage)}`,
    });
  }
  return usage;
}

export function isUsage(usage: Usage): boolean {
  const { input, cached, output, reasoning, images } = usage;
  return [input, cached, output, reasoning, images].every(isCount) && cached <= input;
}

export function isEmpty({ input, cached, output, reasoning, images }: Usage): boolean {
  return input + cached + output + reasoning + images === 0;
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value <= MAX_COUNT;
}

/** The books of the operator's losses. Rounded down to what is left below its ceiling, so that no sum leaves 2^53. */
export const OVERRUN_ACCOUNT = 'acc_overrun';
export const OVERRUN_CEILING = 8_000_000_000_000_000;

export function bookableOverrun(overrun: NanoUsd, bookedSoFar: number): NanoUsd {
  return nanoUsd(Math.min(overrun, Math.max(0, OVERRUN_CEILING - bookedSoFar)));
}

/** A client that leaves is no failure of the service; everything else that did not complete is. */
export function isFailure(outcome: Outcome): boolean {
  return outcome !== 'completed' && outcome !== 'client_left';
}

/** Entries of requests say what was sold. */
export function causeOf(request: { readonly endpoint: string; readonly model: string }): string {
  return `${request.endpoint}/${request.model}`;
}

export const REQUEST_ACTOR = 'request';

/** The balance after an entry from outside a request, or the fault that says why it cannot be. */
export function balanceAfter(
  account: { readonly balance: NanoUsd; readonly held: NanoUsd },
  { kind, amount }: Pick<NewEntry, 'kind' | 'amount'>,
): NanoUsd {
  if (!Number.isSafeInteger(amount) || amount === 0)
    throw refused('The amount is not a valid amount of money.');
  if (amount < 0 && kind !== 'adjustment') throw refused(`A ${kind} cannot take money away.`);
  if (account.balance + amount > MAX_BALANCE)
    throw refused('The balance would exceed the largest balance allowed.');
  if (account.balance + amount < account.held) {
    throw refused('The balance would fall below zero or below what running requests hold.');
  }
  return nanoUsd(account.balance + amount);
}

function refused(message: string): Fault {
  return new Fault('invalid_field', message, { param: 'amount' });
}
