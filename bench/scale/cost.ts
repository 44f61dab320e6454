import type { Case } from '../cases.ts';
import type { Contender } from '../contenders/contender.ts';
import { saturate, warmUp, type LoadTools } from '../harness/measure.ts';

/** CPU per request of Tollgate and, in the same minutes, of the bare forwarder: what moves both is the machine. */
export interface Cost {
  readonly tollgateUs: number;
  readonly forwarderUs: number;
  readonly errors: number;
}

export interface CostOptions {
  readonly one: Case;
  readonly tollgate: Contender;
  readonly forwarder: Contender;
  readonly tools: LoadTools;
}

const ROUNDS = 3;
const SECONDS = 2;

/** The best of a few turns each, after warming up. */
export async function costOf({ one, tollgate, forwarder, tools }: CostOptions): Promise<Cost> {
  await warmUp(one, tollgate, tools);
  let tollgateUs = Number.POSITIVE_INFINITY;
  let forwarderUs = Number.POSITIVE_INFINITY;
  let errors = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const own = await saturate(one, tollgate, SECONDS, tools);
    const bare = await saturate(one, forwarder, SECONDS, tools);
    tollgateUs = Math.min(tollgateUs, own.cpuUsPerUnit);
    forwarderUs = Math.min(forwarderUs, bare.cpuUsPerUnit);
    errors += own.errors + bare.errors;
  }
  return { tollgateUs, forwarderUs, errors };
}
