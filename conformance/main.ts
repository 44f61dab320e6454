/**
 * Runs the cases against gateways that it installs and starts itself, prints a table, and stops.
 *
 *   gateway-conformance [GATEWAY…]   those named; without a name, tollgate, new-api and litellm
 *     --list          the gateways and the cases
 *     --cases A,B     only these cases
 *     --rounds N      how often a bound has to hold (3); one that was broken is not played again
 *     --json FILE     everything that was found, for programs
 *     --table         prints one table of the JSON files that are named instead of gateways
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ADAPTERS } from './adapters/all.ts';
import { CASES } from './cases/all.ts';
import { foundIn, machineLine, markdown, type Found } from './report.ts';
import { runAdapter, type GatewayReport } from './run.ts';

/** Those that keep money and whose publishers say how to run them in production. */
const USUAL = ['tollgate', 'new-api', 'litellm'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: 'boolean', default: false },
    cases: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'string' },
    table: { type: 'boolean', default: false },
  },
});
if (values.table) {
  // Files that `--json` wrote.
  console.log(markdown(positionals.map((file) => JSON.parse(readFileSync(file, 'utf8')) as Found)));
  process.exit(0);
}
const adapters = (positionals.length === 0 ? USUAL : positionals).map(adapterOf);
const wanted = values.cases?.split(',');
const cases = CASES.filter(({ id }) => wanted === undefined || wanted.includes(id));
if (cases.length === 0) fail('none of these cases exists; see --list');
if (!/^[1-9]$/.test(values.rounds)) fail('--rounds takes a number from 1 to 9');
if (values.list) {
  for (const { name, about } of ADAPTERS) console.log(`${name}: ${about}`);
  console.log('');
  for (const { id, title, bound } of CASES) console.log(`${id}: ${title}. Bound: ${bound}.`);
  process.exit(0);
}

const folder = mkdtempSync(join(tmpdir(), 'gateway-conformance-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
console.log(machineLine());
const reports: GatewayReport[] = [];
for (const adapter of adapters) {
  const options = { cases, rounds: Number(values.rounds), folder, log: (line: string) => console.log(line) };
  const report = await runAdapter(adapter, options);
  if (report.notRun !== undefined) console.log(`${adapter.name}: not run. ${report.notRun}`);
  reports.push(report);
}
const found = foundIn(reports, cases);
console.log(`\n${found.machine}\n\n${markdown([found])}`);
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(found, undefined, 2)}\n`);
process.exit(0);

function adapterOf(name: string) {
  return ADAPTERS.find((adapter) => adapter.name === name) ?? fail(`there is no gateway ${name}; see --list`);
}

function fail(reason: string): never {
  console.error(reason);
  process.exit(2);
}
