/**
 * `npm run faults`: every scenario of test/faults/catalogue.yaml that fits this machine, in less than an hour and on
 * loopback only, and then docs/faults.md. `--seconds` and `--requests` shorten the attack and the malformed requests, 0 leaves
 * them out; the page says so. `--only A,D1` runs some scenarios and leaves the others' rows with their dates as they are;
 * `--attacked FILE` takes the attack from there, where `runs/attack-run.ts --into FILE` has left it for both stores.
 */
import '../support/property-seed.ts';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { testPostgres } from '../support/postgres.ts';
import { ATTACK_SECONDS, attackResult, runAttack } from './runs/attack.ts';
import { readCatalogue, type RunName, type Scenario } from './runs/catalogue.ts';
import { judge, type RunResult } from './runs/judge.ts';
import { MALFORMED_REQUESTS, runMalformed } from './runs/malformed.ts';
import { faultsPage } from './runs/page.ts';
import { runTestFile, type TestResult } from './runs/test-results.ts';

const PAGE = 'docs/faults.md';
/** No file is begun after this; the runs come first and take about fifteen minutes. */
const LAST_START_MS = 50 * 60_000;
/** Needs a browser, and has a group of its own in `npm test`. */
const BROWSER = 'test/browser/';
const STORES = ['SQLite', 'Postgres'] as const;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: String(ATTACK_SECONDS) },
    requests: { type: 'string', default: String(MALFORMED_REQUESTS) },
    only: { type: 'string' },
    attacked: { type: 'string' },
  },
});
const startedAt = performance.now();
const catalogue = await readCatalogue();
const chosen = chosenOf(catalogue, values.only?.split(','));
const runs = await runRuns(new Set(chosen.flatMap((scenario) => scenario.runs)));
const tests = await runFiles(new Set(chosen.flatMap((scenario) => scenario.tests.map(({ file }) => file))));
const findings = chosen.map((scenario) => judge(scenario, { tests, runs }));
const failed = findings.filter(({ outcome }) => outcome === 'failed');
for (const { scenario, told } of failed) console.error(`✗ ${scenario.id} ${scenario.what}: ${told}`);
const machine = `${cpus().length} × ${cpus()[0]?.model.trim() ?? process.arch}`;
const date = new Date().toISOString().slice(0, 10);
const before = readFileSync(PAGE, 'utf8');
writeFileSync(PAGE, faultsPage({ catalogue, findings, before }, date, machine));
console.log(`${findings.length - failed.length} scenarios without a failure, ${failed.length} with one`);
process.exit(failed.length === 0 ? 0 : 1);

function chosenOf(all: readonly Scenario[], only: readonly string[] | undefined): readonly Scenario[] {
  return only ? all.filter(({ id }) => only.includes(id) || only.includes(id.charAt(0))) : all;
}

function progress(text: string): void {
  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
  console.log(`${minutes.padStart(5)} min  ${text}`);
}

async function runRuns(wanted: ReadonlySet<RunName>): Promise<Map<RunName, RunResult>> {
  const results = new Map<RunName, RunResult>();
  const seconds = Number(values.seconds);
  const requests = Number(values.requests);
  if (wanted.has('malformed') && requests > 0) results.set('malformed', await malformed(requests));
  if (wanted.has('attack') && seconds > 0) results.set('attack', joined(await attack(seconds)));
  if (results.size > 0 && values.attacked === undefined) await (await testPostgres()).stop();
  return results;
}

async function freshDatabase(): Promise<string> {
  return await (await testPostgres()).freshDatabase();
}

async function malformed(requests: number): Promise<RunResult> {
  const faults: string[] = [];
  const told: string[] = [];
  const seed = Number(process.env['FAST_CHECK_SEED']);
  for (const store of STORES) {
    const onProgress = (done: number): void => {
      if (done % 10_000 === 0) progress(`malformed requests on ${store}: ${done}`);
    };
    const share = Math.ceil(requests / STORES.length);
    const found = await runMalformed({
      requests: share,
      seed,
      onProgress,
      ...(store === 'Postgres' && { databaseUrl: await freshDatabase() }),
    });
    faults.push(...found.faults.map((fault) => `${store}: ${fault}`));
    told.push(`${store}: ${share} requests, /healthz p99 ${found.health.p99Ms} ms`);
  }
  const shortened = requests < MALFORMED_REQUESTS ? `only ${requests} requests` : undefined;
  return { faults, told: told.join(', '), shortened };
}

async function attack(seconds: number): Promise<RunResult[]> {
  if (values.attacked !== undefined) {
    const found = JSON.parse(readFileSync(values.attacked, 'utf8')) as Partial<Record<string, RunResult>>;
    return STORES.map(
      (store) => found[store] ?? { faults: [], told: '', shortened: `${store} was not attacked` },
    );
  }
  const results: RunResult[] = [];
  for (const store of STORES) {
    progress(`attack on ${store}, ${seconds} s`);
    const run = await runAttack({ seconds, ...(store === 'Postgres' && { freshDatabase }) });
    const result = attackResult(store, seconds, run);
    results.push(result);
    progress(`${result.told}; its thread ran ${run.ranMs} ms and waited ${run.waitedMs} ms for a processor`);
  }
  return results;
}

function joined(results: readonly RunResult[]): RunResult {
  return {
    faults: results.flatMap(({ faults }) => faults),
    told: results.map(({ told }) => told).join(', '),
    shortened: results.find(({ shortened }) => shortened !== undefined)?.shortened,
  };
}

async function runFiles(wanted: ReadonlySet<string>): Promise<Map<string, TestResult[]>> {
  const results = new Map<string, TestResult[]>();
  const files = [...wanted].filter((file) => !file.startsWith(BROWSER)).toSorted();
  for (const [index, file] of files.entries()) {
    if (performance.now() - startedAt > LAST_START_MS) break;
    const found = await runTestFile(file);
    results.set(file, found);
    const failures = found.filter(({ outcome }) => outcome === 'failed').length;
    progress(`${index + 1} of ${files.length}: ${file}: ${found.length} tests, ${failures} failed`);
  }
  return results;
}
