import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadPlan, LoadResult } from '../load/plan.ts';
import { libraryPath } from './tools.ts';

/** Runs a plan in load generators of their own, one for each plan, and sums up. */
export async function generate(plans: readonly LoadPlan[]): Promise<LoadResult> {
  return sumUp(await Promise.all(plans.map(generateOne)));
}

/** The same with wrk, which costs the shared cores less; it knows neither rates nor events. */
export async function generateWithWrk(
  wrk: string,
  folder: string,
  plans: readonly LoadPlan[],
): Promise<LoadResult> {
  return sumUp(
    await Promise.all(plans.map((plan, index) => wrkOne(wrk, join(folder, `load-${index}.lua`), plan))),
  );
}

const GENERATOR = join(import.meta.dir, '../load/generator.ts');
/** A generator that is late by this much hangs. */
const SPARE_MS = 20_000;

async function generateOne(plan: LoadPlan): Promise<LoadResult> {
  const child = Bun.spawn([process.execPath, GENERATOR], {
    stdin: new TextEncoder().encode(JSON.stringify(plan)),
    stdout: 'pipe',
    stderr: 'inherit',
    timeout: plan.seconds * 1000 + SPARE_MS,
  });
  return JSON.parse(await new Response(child.stdout).text()) as LoadResult;
}

async function wrkOne(wrk: string, script: string, plan: LoadPlan): Promise<LoadResult> {
  writeFileSync(script, wrkScript(plan));
  const flags = [
    '-t1',
    `-c${plan.connections}`,
    `-d${Math.max(1, Math.round(plan.seconds))}s`,
    '--timeout',
    '20s',
    '-s',
    script,
  ];
  const child = Bun.spawn([wrk, ...flags, plan.url], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, LD_LIBRARY_PATH: libraryPath },
    timeout: plan.seconds * 1000 + SPARE_MS,
  });
  const output = await new Response(child.stdout).text();
  if (!output.includes('RESULT')) throw new Error(`wrk did not finish: ${output.slice(-500)}`);
  const line = output.slice(output.indexOf('RESULT') + 'RESULT'.length);
  const { requests, errors, micros, p50, p99 } = JSON.parse(line) as Record<
    'requests' | 'errors' | 'micros' | 'p50' | 'p99',
    number
  >;
  return {
    requests: requests - errors,
    errors,
    events: 0,
    seconds: micros / 1e6,
    p50Ms: p50 / 1000,
    p99Ms: p99 / 1000,
    firstByteP50Ms: Number.NaN,
    firstByteP99Ms: Number.NaN,
    complaint: errors > 0 ? `wrk saw ${errors} errors` : undefined,
  };
}

function wrkScript({ url, requests }: LoadPlan): string {
  const { pathname, search } = new URL(url);
  const formatted = requests.map(({ headers, body }) => {
    const pairs = Object.entries({
      'user-agent': 'tollgate-bench/1',
      'content-type': 'application/json',
      ...headers,
    });
    const table = pairs.map(([name, value]) => `[${lua(name)}] = ${lua(value)}`).join(', ');
    return `  table.insert(all, wrk.format("POST", ${lua(pathname + search)}, { ${table} }, ${lua(body)}))`;
  });
  return `
local all = {}
local turn = 0
init = function()
${formatted.join('\n')}
end
request = function()
  turn = turn % #all + 1
  return all[turn]
end
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('RESULT {"requests":%d,"errors":%d,"micros":%d,"p50":%d,"p99":%d}',
    summary.requests, e.connect + e.read + e.write + e.status + e.timeout, summary.duration,
    latency:percentile(50), latency:percentile(99)))
end
`;
}

function lua(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}

function sumUp(results: readonly LoadResult[]): LoadResult {
  const total = (key: 'requests' | 'errors' | 'events'): number =>
    results.reduce((sum, one) => sum + one[key], 0);
  const worst = (key: 'seconds' | 'p50Ms' | 'p99Ms' | 'firstByteP50Ms' | 'firstByteP99Ms'): number =>
    Math.max(...results.map((one) => one[key]));
  return {
    requests: total('requests'),
    errors: total('errors'),
    events: total('events'),
    seconds: worst('seconds'),
    p50Ms: worst('p50Ms'),
    p99Ms: worst('p99Ms'),
    firstByteP50Ms: worst('firstByteP50Ms'),
    firstByteP99Ms: worst('firstByteP99Ms'),
    complaint: results.find(({ complaint }) => complaint !== undefined)?.complaint,
  };
}
