import { afterAll, beforeAll, expect, test } from 'bun:test';
import { CONNECTIONS, SMALL_CHAT } from '../../bench/cases.ts';
import type { Contender } from '../../bench/contenders/contender.ts';
import { startBunForwarder } from '../../bench/contenders/forwarders.ts';
import { startTollgate } from '../../bench/contenders/tollgate.ts';
import { openBenchEnvironment, type BenchEnvironment } from '../../bench/harness/environment.ts';
import { saturate, type LoadTools } from '../../bench/harness/measure.ts';
import { shareOfOthers } from '../../bench/harness/usage.ts';

/**
 * The target is 1.8, and the bench measures it. This only catches a change that makes every request far more expensive: a
 * ratio of CPU times measured in the same seconds, so that a slow machine does not fail it. The same commit had ratios from
 * 2.9 to 4.4 on machines of two kinds, so a lower limit would judge the machine.
 */
const MOST_TIMES_BARE = 5;
/** A neighbour on the same machine makes single turns dearer, by chance ours more often; hardly all but one of so many. */
const MOST_ROUNDS = 12;
const ROUNDS_WITHIN = 2;
const WARM_TURNS = 4;
const TURN_SECONDS = 1;
const LOOK_MS = 500;
/** Above this, the interference of other processes says more about them than about us. */
const MOST_FOR_OTHERS = 0.4;

const others = await shareOfOthers(() => Bun.sleep(LOOK_MS));
const tooBusy = others > MOST_FOR_OTHERS;
if (tooBusy) console.log(`speed not measured: ${words(others)}`);

let field: BenchEnvironment;
let forwarder: Contender;
let tollgate: Contender;

beforeAll(async () => {
  if (tooBusy) return;
  field = await openBenchEnvironment();
  forwarder = await startBunForwarder(field);
  const { backend, folder } = field;
  tollgate = await startTollgate({ name: 'guard', backend, folder, accounts: SMALL_CHAT.accounts });
});

afterAll(async () => {
  if (tooBusy) return;
  await tollgate.stop();
  await forwarder.stop();
  await field.close();
});

test.skipIf(tooBusy)(
  `a small chat costs at most ${MOST_TIMES_BARE} times the CPU of a bare forwarder, ${CONNECTIONS} at a time`,
  async () => {
    // Our own generator: a machine that runs the tests need not have wrk.
    const tools: LoadTools = { wrk: undefined, folder: field.folder };
    const turn = (contender: Contender) => saturate(SMALL_CHAT, contender, TURN_SECONDS, tools);
    await turn(forwarder);
    for (let warm = 0; warm < WARM_TURNS; warm++) await turn(tollgate);
    const ratios: number[] = [];
    const meanwhile = await shareOfOthers(async () => {
      for (let round = 0; round < MOST_ROUNDS && within(ratios) < ROUNDS_WITHIN; round++) {
        const [one, other] = [await turn(forwarder), await turn(tollgate)];
        expect({ bare: one.errors, own: other.errors }).toEqual({ bare: 0, own: 0 });
        ratios.push(other.cpuUsPerUnit / one.cpuUsPerUnit);
      }
    });
    ratios.sort((a, b) => a - b);
    console.log(`times a bare forwarder: ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}`);
    if (meanwhile > MOST_FOR_OTHERS) console.log(`not judged: ${words(meanwhile)}`);
    else expect(within(ratios)).toBe(ROUNDS_WITHIN);
  },
);

function within(ratios: readonly number[]): number {
  return ratios.filter((ratio) => ratio <= MOST_TIMES_BARE).length;
}

function words(share: number): string {
  return `other processes take ${Math.round(share * 100)} % of the cores`;
}
