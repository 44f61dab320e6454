/**
 * `npm run clients [-- NAME…]`: the newest versions of other people's clients against a local Tollgate, feature by
 * feature, with nothing changed but base URL, key and model. Without names all of them are run. What they can do is written
 * into the table of docs/clients/README.md. They are installed into a temporary folder, or into the one of `CLIENTS_FOLDER`, which is
 * kept. Not part of `npm test`.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from './agents/program.ts';
import { FEATURES, judgeFact, type ClientFact, type Feature, type Verdict } from './clients/facts.ts';
import { installClient, missingTool } from './clients/languages.ts';
import { ROSTER, type RosterEntry } from './clients/roster.ts';
import { clientLine, writeLine, type ClientRow } from './clients/table.ts';
import { startClientTarget, type ClientTarget } from './clients/target.ts';

const RUN_MS = 240_000;
const PAGE = join(import.meta.dir, '..', 'docs', 'clients', 'README.md');

const names = process.argv.slice(2);
const unknown = names.find((name) => !ROSTER.some((entry) => entry.name === name));
if (unknown !== undefined) throw new Error(`there is no client ${unknown}`);
const kept = process.env['CLIENTS_FOLDER'];
const folder = kept ?? mkdtempSync(join(tmpdir(), 'tollgate-clients-'));
mkdirSync(folder, { recursive: true });
const target = await startClientTarget();
const rows: ClientRow[] = [];
let breaches: readonly string[] = [];
try {
  for (const entry of ROSTER.filter(({ name }) => names.length === 0 || names.includes(name))) {
    const row = await rowOf(entry, target);
    rows.push(row);
    // At once, so that a run that is ended early has not been for nothing.
    writeLine(PAGE, clientLine(row, new Date().toISOString().slice(0, 10)));
  }
} finally {
  breaches = await target.stop();
  if (kept === undefined) rmSync(folder, { recursive: true, force: true });
}
for (const breach of breaches) console.error(`✗ the books do not balance: ${breach}`);
const failed = rows.some(({ verdicts }) => [...verdicts.values()].some(({ kind }) => kind === 'fails'));
process.exit(failed || breaches.length > 0 ? 1 : 0);

async function rowOf(entry: RosterEntry, gateway: ClientTarget): Promise<ClientRow> {
  const notRun = missingTool(entry.language);
  if (notRun !== undefined) return { entry, version: undefined, notRun, verdicts: new Map() };
  const installed = await installClient(entry, folder).catch((error: unknown) => String(error));
  if (typeof installed === 'string') {
    console.error(`✗ ${entry.name} could not be installed: ${installed}`);
    return { entry, version: undefined, notRun: 'could not be installed', verdicts: new Map() };
  }
  const client = await gateway.admit();
  try {
    const { PATH = '', HOME = folder } = process.env;
    const environment = { PATH, HOME, LANG: 'C.UTF-8', ...installed.environment, ...client.environment };
    const finished = await runProgram({ ...installed, environment, timeoutMs: RUN_MS });
    const facts = factsIn(finished.output);
    if (facts.length === 0) console.error(`✗ ${entry.name}:\n${finished.output.slice(-3_000)}`);
    const verdicts = new Map<Feature, Verdict>();
    for (const feature of FEATURES) {
      const fact = facts.find((one) => one.feature === feature);
      verdicts.set(feature, judgeFact(feature, fact, client));
    }
    tell(entry, installed.version, verdicts);
    return { entry, version: installed.version, verdicts };
  } finally {
    await client.leave();
  }
}

function factsIn(output: string): ClientFact[] {
  const lines = output.split('\n').filter((line) => line.startsWith('{"feature"'));
  return lines.map((line) => JSON.parse(line) as ClientFact);
}

function tell({ name }: RosterEntry, version: string, verdicts: ReadonlyMap<Feature, Verdict>): void {
  console.log(`${name} ${version}`);
  for (const [feature, verdict] of verdicts)
    console.log(
      `  ${verdict.kind === 'fails' ? '✗' : verdict.kind === 'absent' ? '–' : '✓'} ${feature}` +
        (verdict.kind === 'fails'
          ? `: ${verdict.why}`
          : verdict.kind === 'works'
            ? ` ${verdict.note ?? ''}`
            : ''),
    );
}
