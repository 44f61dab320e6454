/**
 * `npm run bill`: at least two thousand generated requests on each store against a backend that keeps an invoice of its
 * own. Prints both sums by class and writes them into docs/bill.md; fails if they disagree. `FAST_CHECK_SEED` repeats a run,
 * `BILL_REQUESTS` sets the number for a shorter one, which is not published.
 */
import '../support/property-seed.ts';
import { readFileSync, writeFileSync } from 'node:fs';
import { testPostgres } from '../support/postgres.ts';
import { generatePlans } from './generate.ts';
import { classSums, faultsOf, possibleTableOf, tableOf } from './judge.ts';
import { runPlans, type BilledRequest } from './run-plans.ts';

const REQUESTS = 2_000;
const PAGE = 'docs/bill.md';
const MAX_FAULTS = 40;

const seed = Number(process.env['FAST_CHECK_SEED']);
const count = Number(process.env['BILL_REQUESTS'] ?? REQUESTS);
const postgres = await testPostgres();
const requests: BilledRequest[] = [];
const booked = new Map<string, bigint>();
const faults: string[] = [];
for (const store of ['SQLite', 'Postgres'] as const) {
  const plans = generatePlans(seed, count);
  const run = await runPlans(plans, store === 'Postgres' ? await postgres.freshDatabase() : undefined);
  const found = faultsOf(run);
  console.log(`${store}: ${plans.length} requests, ${found.length} faults`);
  requests.push(...run.requests);
  for (const [model, cost] of run.booked) booked.set(model, (booked.get(model) ?? 0n) + cost);
  faults.push(...found.map((fault) => `${store}: ${fault}`));
}
await postgres.stop();
const sums = classSums(requests, booked);
const table = tableOf(sums);
const possibleTable = possibleTableOf(sums);
console.log(`${table}\n\n${possibleTable}`);
for (const fault of faults.slice(0, MAX_FAULTS)) console.error(fault);
if (faults.length === 0 && count >= REQUESTS) publish();
process.exit(faults.length === 0 ? 0 : 1);

function publish(): void {
  const told = `${requests.length} requests, half of them on each store, \`FAST_CHECK_SEED=${seed}\`:`;
  const page = readFileSync(PAGE, 'utf8');
  const withTable = between(page, 'table', `${told}\n\n${table}`);
  writeFileSync(PAGE, between(withTable, 'bound', possibleTable));
}

function between(page: string, mark: string, text: string): string {
  const [start, end] = [`<!-- ${mark} -->`, `<!-- end of ${mark} -->`];
  const from = page.indexOf(start);
  const to = page.indexOf(end);
  if (from === -1 || to === -1) throw new Error(`${PAGE} has no place for the ${mark}`);
  return `${page.slice(0, from + start.length)}\n\n${text}\n\n${page.slice(to)}`;
}
