import { SMALL_CHAT, STREAMED_CHAT, type Case } from '../cases.ts';
import type { Contender } from '../contenders/contender.ts';
import { directContender } from '../contenders/direct.ts';
import { NAMES, type Measurements } from '../speed-report.ts';
import type { BenchEnvironment } from './environment.ts';
import { delayAt, saturate, untilIdle, warmUp, type Delay, type LoadTools, type Sample } from './measure.ts';

export interface ComparisonPlan {
  readonly cases: readonly Case[];
  /** How often each contender gets its turn at each case, and for how long. */
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  /** One short slice instead of a whole warm-up. */
  readonly quick: boolean;
  readonly delay: { readonly ratePerSecond: number; readonly rounds: number; readonly seconds: number };
}

/** The contenders of a run; one that cannot start is left out, and the report says so. */
export class Contenders {
  readonly all: Contender[] = [];
  readonly notes: string[] = [];

  async add(name: string, start: () => Promise<Contender | undefined>): Promise<void> {
    try {
      const contender = await start();
      if (contender) this.all.push(contender);
    } catch (error) {
      const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
      this.notes.push(`${name} is left out: ${reason}`);
      console.error(`${name}: ${String(error)}`);
    }
  }

  async stop(): Promise<void> {
    for (const contender of this.all.toReversed()) await contender.stop();
  }
}

/** Every contender at every case, turn about, and then its latency at a fixed rate. */
export async function compareAll(
  contenders: readonly Contender[],
  plan: ComparisonPlan,
  environment: BenchEnvironment,
  wrk: string | undefined,
): Promise<Measurements> {
  const tools: LoadTools = { wrk, folder: environment.folder, connections: plan.connections };
  const samples = await saturateAll(contenders, plan, tools);
  const delays = new Map<string, Delay[]>();
  const direct = directContender(NAMES.direct, environment);
  await inTurns([direct, ...contenders], plan.delay.rounds, async (contender) => {
    const { ratePerSecond, seconds } = plan.delay;
    const delay = await delayAt(ratePerSecond, SMALL_CHAT, contender, seconds);
    delays.set(contender.name, [...(delays.get(contender.name) ?? []), delay]);
    console.log(
      `${'latency'.padEnd(16)} ${contender.name.padEnd(30)} p50 ${delay.p50Ms.toFixed(2)} ms, p99 ${delay.p99Ms.toFixed(2)} ms, ${delay.errors} failed`,
    );
  });
  return { contenders, cases: plan.cases, connections: plan.connections, samples, delays };
}

async function saturateAll(
  contenders: readonly Contender[],
  { cases, rounds, seconds, quick }: ComparisonPlan,
  tools: LoadTools,
): Promise<Map<string, Map<string, Sample[]>>> {
  const samples = new Map<string, Map<string, Sample[]>>();
  for (const contender of contenders) {
    samples.set(contender.name, new Map());
    // Whole answers and streams take different ways through a gateway.
    for (const one of cases.filter((each) => each === SMALL_CHAT || each === STREAMED_CHAT)) {
      if (quick) await saturate(one, contender, 1, tools);
      else await warmUp(one, contender, tools);
      await untilIdle(contender);
    }
  }
  for (const one of cases) {
    const concerned = contenders.filter(({ headers }) => !one.needsAccounts || headers.length > 1);
    await inTurns(concerned, rounds, async (contender) => {
      const sample = await saturate(one, contender, seconds, tools);
      const ofCase = samples.get(contender.name);
      ofCase?.set(one.name, [...(ofCase.get(one.name) ?? []), sample]);
      console.log(
        `${one.name.padEnd(16)} ${contender.name.padEnd(30)} ${sample.cpuUsPerUnit.toFixed(1)} µs, ${Math.round(sample.unitsPerSecond)}/s`,
      );
    });
  }
  return samples;
}

/** Turn about, each round beginning with another one, so that no contender has the quiet moments for itself. */
async function inTurns(
  all: readonly Contender[],
  count: number,
  turn: (contender: Contender) => Promise<void>,
): Promise<void> {
  for (let round = 0; round < count; round++) {
    for (let index = 0; index < all.length; index++) {
      const contender = all[(index + round) % all.length]!;
      await turn(contender);
      await untilIdle(contender);
    }
  }
}
