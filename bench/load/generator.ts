/**
 * A load generator, a process of its own: reads a plan (JSON) from its standard input, runs it, prints the result.
 * Usage: bun bench/load/generator.ts < plan.json
 */
import { percentile } from '../harness/statistics.ts';
import { Connection, type ExchangeResult } from './connection.ts';
import { encodeRequest, type LoadPlan, type LoadResult } from './plan.ts';

/** More connections than this waiting for an answer is a server that does not keep up. */
const MAX_OPEN = 2_000;
const TICK_MS = 1;
const LAST_ANSWERS_MS = 5_000;

const plan = JSON.parse(await Bun.stdin.text()) as LoadPlan;
const requests = plan.requests.map(({ headers, body }) => encodeRequest(plan.url, headers, body));
const asksToClose = plan.requests.some(({ headers }) => headers['connection'] === 'close');
const totalsMs: number[] = [];
const firstBytesMs: number[] = [];
let errors = 0;
let events = 0;
let complaint: string | undefined;
let next = 0;

const startedAt = performance.now();
const endsAt = startedAt + plan.seconds * 1000;
if (plan.ratePerSecond === undefined) await closedLoop();
else await openLoop(plan.ratePerSecond);
const result: LoadResult = {
  requests: totalsMs.length,
  errors,
  events,
  seconds: (performance.now() - startedAt) / 1000,
  p50Ms: percentile(totalsMs, 0.5),
  p99Ms: percentile(totalsMs, 0.99),
  firstByteP50Ms: percentile(firstBytesMs, 0.5),
  firstByteP99Ms: percentile(firstBytesMs, 0.99),
  complaint,
};
console.log(JSON.stringify(result));
process.exit(0);

async function closedLoop(): Promise<void> {
  const connections = Array.from({ length: plan.connections }, () => new Connection(plan.url, asksToClose));
  // Events of answers that are cut off by the end of the run count: they were delivered.
  let cut = false;
  const drive = async (connection: Connection): Promise<void> => {
    let seen = 0;
    connection.onBytes = (count) => {
      if (!cut) events += count - seen;
      seen = count;
    };
    while (performance.now() < endsAt) {
      seen = 0;
      await exchange(connection);
    }
  };
  const end = Bun.sleep(plan.seconds * 1000).then(() => (cut = true));
  await Promise.race([Promise.all(connections.map(drive)), end]);
}

async function openLoop(rate: number): Promise<void> {
  const idle: Connection[] = [];
  const open = new Set<Promise<void>>();
  for (let sent = 0; performance.now() < endsAt;) {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * rate);
    for (; sent < due; sent++) {
      if (open.size >= MAX_OPEN) {
        fail('too many unanswered requests');
        continue;
      }
      const connection = idle.pop() ?? new Connection(plan.url, asksToClose);
      const running: Promise<void> = exchangeOnce(connection).finally(() => {
        open.delete(running);
        idle.push(connection);
      });
      open.add(running);
    }
    await Bun.sleep(TICK_MS);
  }
  await Promise.race([Promise.all(open), Bun.sleep(LAST_ANSWERS_MS)]);
}

async function exchangeOnce(connection: Connection): Promise<void> {
  const exchanged = await exchange(connection);
  events += exchanged?.events ?? 0;
}

async function exchange(connection: Connection): Promise<ExchangeResult | undefined> {
  const request = requests[next++ % requests.length]!;
  try {
    const exchanged = await connection.send(request);
    if (exchanged.status !== 200) {
      fail(`status ${exchanged.status}`);
      return undefined;
    }
    totalsMs.push(exchanged.totalMs);
    firstBytesMs.push(exchanged.firstByteMs);
    return exchanged;
  } catch (error) {
    fail(String(error));
    return undefined;
  }
}

function fail(why: string): void {
  errors++;
  complaint ??= why;
}
