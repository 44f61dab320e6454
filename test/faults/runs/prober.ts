/**
 * Looks at `/healthz` at even times until its standard input ends, and prints how long the answers took. In a process of
 * its own: an answer is then late only because the server was.
 */
export interface ProbeReport {
  readonly probes: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly slowestMs: number;
}

const EVERY_MS = 20;
const PATIENCE_MS = 30_000;
const url = process.argv[2]!;
const times: number[] = [];
let failed = 0;
let isOver = false;

async function probe(): Promise<void> {
  const startedAt = performance.now();
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(PATIENCE_MS) });
    await response.arrayBuffer();
    if (response.status !== 200) failed++;
  } catch {
    failed++;
  }
  times.push(performance.now() - startedAt);
}

async function run(): Promise<void> {
  const running = new Set<Promise<void>>();
  while (!isOver) {
    const one = probe().finally(() => running.delete(one));
    running.add(one);
    await Bun.sleep(EVERY_MS);
  }
  await Promise.all(running);
}

const probing = run();
for await (const _ of Bun.stdin.stream());
isOver = true;
await probing;
times.sort((one, other) => one - other);
const at = (share: number): number => Math.round(times[Math.ceil(times.length * share) - 1] ?? 0);
const report: ProbeReport = {
  probes: times.length,
  failed,
  p50Ms: at(0.5),
  p99Ms: at(0.99),
  slowestMs: at(1),
};
console.log(JSON.stringify(report));
process.exit(0);
