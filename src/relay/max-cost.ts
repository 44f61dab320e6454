import { affordableCap, cheapestUseful, holdFor } from '../ledger/decide.ts';
import { Fault } from '../std/fault.ts';
import { formatUsd, type NanoUsd } from '../std/money.ts';
import type { Quote } from './call.ts';

/** The dearest outcome costs no more than this. */
export function costsAtMost(quote: Quote, maxCost: NanoUsd): boolean {
  return holdFor(quote, askedOutputOf(quote) ?? 0) <= maxCost;
}

/**
 * The quote with an output cap that keeps the dearest outcome within what the client allows. The bound on the input may be
 * too loose for that, so it is counted. Throws a 402 with the cost that would be enough.
 */
export async function withinMaxCost<Q extends Quote>(quote: Q, maxCost: NanoUsd): Promise<Q> {
  const { price } = quote;
  const ceiling = quote.countInput ? await quote.countInput() : quote.ceiling;
  const output = affordableCap({ price, ceiling }, maxCost);
  if (output === undefined) throw maxCostTooLow(maxCost, cheapestUseful({ price, ceiling }));
  return {
    ...quote,
    ceiling: ceiling.kind === 'tokens' ? { ...ceiling, output } : ceiling,
    askedOutput: askedOutputOf(quote),
    countInput: undefined,
    mayBeTooLong: undefined,
  };
}

function askedOutputOf({ ceiling }: Quote): number | undefined {
  return ceiling.kind === 'tokens' ? ceiling.output : undefined;
}

function maxCostTooLow(maxCost: NanoUsd, required: NanoUsd): Fault {
  const [allowed, needed] = [formatUsd(maxCost), formatUsd(required)];
  return new Fault(
    'payment_required',
    `The request may cost more than max_cost_usd allows (allowed $${allowed}, required $${needed}).`,
    {
      param: 'max_cost_usd',
      extra: {
        reason: 'max_cost_too_low',
        max_cost_usd: Number(allowed),
        required_usd: Number(needed),
      },
    },
  );
}
