import { CONNECTIONS, plansFor, type Case } from '../cases.ts';
import type { Contender } from '../contenders/contender.ts';
import { generate, generateWithWrk } from './generate.ts';
import { usageOf } from './usage.ts';

/** One slice of load on one contender. A unit is a request, or a chunk of a stream. */
export interface Sample {
  readonly cpuUsPerUnit: number;
  readonly databaseUsPerUnit: number;
  readonly unitsPerSecond: number;
  readonly errors: number;
  readonly rssBytes: number;
  readonly complaint: string | undefined;
}

export interface Delay {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly errors: number;
}

export interface LoadTools {
  readonly wrk: string | undefined;
  readonly folder: string;
  /** As many as a case has unless told otherwise. */
  readonly connections?: number;
}

/** CPU and throughput with every connection busy. */
export async function saturate(
  one: Case,
  contender: Contender,
  seconds: number,
  tools: LoadTools,
): Promise<Sample> {
  const { connections = CONNECTIONS } = tools;
  const plans = plansFor(one, contender, { seconds, connections });
  const before = both(contender);
  const result =
    one.streamed || tools.wrk === undefined
      ? await generate(plans)
      : await generateWithWrk(tools.wrk, tools.folder, plans);
  const after = both(contender);
  const units = one.streamed ? result.events : result.requests;
  return {
    cpuUsPerUnit: (after.own.cpuUs - before.own.cpuUs) / units,
    databaseUsPerUnit: (after.database.cpuUs - before.database.cpuUs) / units,
    unitsPerSecond: units / result.seconds,
    errors: result.errors,
    rssBytes: after.own.rssBytes,
    complaint: result.complaint,
  };
}

/**
 * Waits until a contender has nothing more to do: a slow one still works on what the end of its turn cut off, at the
 * expense of the next one's turn. One that never rests is not waited for.
 */
export async function untilIdle({ pids }: Contender): Promise<void> {
  for (let look = 0; look < MOST_LOOKS; look++) {
    const before = usageOf(pids).cpuUs;
    await Bun.sleep(LOOK_MS);
    if (usageOf(pids).cpuUs - before < LOOK_MS * 1000 * IDLE_SHARE) return;
  }
}

const LOOK_MS = 250;
const MOST_LOOKS = 60;
/** Of one core. */
const IDLE_SHARE = 0.1;

const WARM_REQUESTS = 30_000;
const WARM_SLICE_SECONDS = 2;
const WARM_SLICES = 6;

/** A just-in-time compiler needs tens of thousands of requests before it is done with a gateway; a slow one gets a time limit. */
export async function warmUp(one: Case, contender: Contender, tools: LoadTools): Promise<void> {
  let served = 0;
  for (let slice = 0; slice < WARM_SLICES && served < WARM_REQUESTS; slice++) {
    const { unitsPerSecond } = await saturate(one, contender, WARM_SLICE_SECONDS, tools);
    served += unitsPerSecond * WARM_SLICE_SECONDS;
  }
}

/** Latency at a rate that leaves the contender idle most of the time. */
export async function delayAt(
  ratePerSecond: number,
  one: Case,
  contender: Contender,
  seconds: number,
): Promise<Delay> {
  const { p50Ms, p99Ms, errors } = await generate(plansFor(one, contender, { seconds, ratePerSecond }));
  return { p50Ms, p99Ms, errors };
}

function both({ pids, databasePids }: Contender) {
  return { own: usageOf(pids), database: databasePids.length === 0 ? NOTHING : usageOf(databasePids) };
}

const NOTHING = { cpuUs: 0, rssBytes: 0, descriptors: 0 };
