import { costPriceFor } from '../catalog/catalog.ts';
import type { Attempt, Settled } from '../ledger/port.ts';
import { isEmpty, NO_USAGE, worstCase } from '../ledger/price.ts';
import { Fault } from '../std/fault.ts';
import { withServedCost } from './attempt-costs.ts';
import { AllAttemptsFailed } from './attempts.ts';
import type { ActiveHold, RequestResult } from './hold/active-hold.ts';
import { ceilingOf, type ImageTerms } from './image-terms.ts';
import type { MeteredUsage } from './stream/reported-usage.ts';

/** What is known about a request for images when it ends. */
export interface EndedImages extends Pick<
  RequestResult,
  'outcome' | 'upstream' | 'attempts' | 'firstByteMs' | 'fault'
> {
  readonly terms: ImageTerms;
  /** The images that the client or its account has; these are charged. */
  readonly delivered: MeteredUsage;
  /** Images that the backend is known to have made, where nobody has all of them. They cost us. */
  readonly made?: MeteredUsage | undefined;
  /** How many further images the backend may have made. They may cost us. */
  readonly unseen: number;
}

export const NOTHING_DELIVERED: MeteredUsage = { usage: NO_USAGE, source: 'counted' };

/**
 * The one end of a request that a backend works on, or has answered: whether the backend, the client, a deadline, a
 * shutdown, the storage or a crash ended it, in whichever process. Charge, cost and possible cost are decided together.
 * Throws `AllAttemptsFailed`, with which the hold is released, where nobody has anything.
 */
export async function endImages(hold: ActiveHold, ended: EndedImages): Promise<Settled | undefined> {
  const { terms, delivered, made, fault, outcome, upstream, firstByteMs } = ended;
  const attempts = withPossibleImages(ended);
  if (isEmpty(delivered.usage)) {
    const costed = made ? withServedCost(attempts, made, terms) : attempts;
    throw new AllAttemptsFailed(fault ?? notKept(), costed);
  }
  const measured = delivered;
  return await hold.settle({
    quote: terms,
    outcome,
    upstream,
    attempts,
    firstByteMs,
    fault,
    measured,
    made,
  });
}

/** The possible cost belongs to the attempt that failed, or stands beside the one that served. */
function withPossibleImages({ attempts, upstream, unseen, terms }: EndedImages): readonly Attempt[] {
  const price = costPriceFor(terms.route.model, upstream, terms.image);
  if (!price || unseen <= 0) return attempts;
  const amount = worstCase(price, ceilingOf(terms, unseen), 0);
  const cost = { amount, basis: 'possible' } as const;
  const last = attempts.at(-1);
  if (last?.result === 'failed' && last.cost === undefined)
    return [...attempts.slice(0, -1), { ...last, cost }];
  const lost = { upstream, result: 'failed', reason: 'connection_lost', durationMs: 0, cost } as const;
  return [...attempts, lost];
}

function notKept(): Fault {
  return new Fault('service_unavailable', 'The images could not be kept. Try again.');
}
