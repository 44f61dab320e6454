/**
 * `bun scripts/sqlite-upgrade.ts [--from COMMIT] [--receipts N]`: an older commit fills a data folder, this tree opens it.
 * Prints how long the change of the schema took, whether the books are whole for this version, and then whether they are
 * for the older one, which an operator may go back to. Needs git. The figures are in docs/operate.md.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { LEDGER_SQL } from '../src/ledger/postgres/functions.ts';
import { systemClock } from '../src/std/clock.ts';
import { stderrLog } from '../src/std/log.ts';
import { openStore } from '../src/store/store.ts';
import { checkOut } from './rolling-upgrade/old-version.ts';

const { values: flags } = parseArgs({
  options: {
    from: { type: 'string', default: 'c8cb2d17' },
    receipts: { type: 'string', default: '1000000' },
  },
});

const old = checkOut(flags.from);
const folder = mkdtempSync(join(tmpdir(), 'tollgate-sqlite-upgrade-'));
try {
  await timed(`${flags.from} made ${flags.receipts} receipts`, () =>
    run(old, 'scripts/seed.ts', '--requests', flags.receipts, '--data', folder),
  );
  await timed('the schema was changed', async () => {
    const settings = { dataDir: folder, log: stderrLog, clock: systemClock, ledgerSql: LEDGER_SQL };
    await (await openStore(settings)).close();
  });
  const verify = (root: string) => run(root, 'src/main/main.ts', 'verify', '--full');
  await timed('this version: verify --full', () => verify(join(import.meta.dir, '..')));
  await timed(`${flags.from}: verify --full`, () => verify(old));
} finally {
  rmSync(folder, { recursive: true, force: true });
  rmSync(old, { recursive: true, force: true });
}

/** A program of one of the two versions on the data folder; its failure is ours. */
async function run(root: string, program: string, ...words: readonly string[]): Promise<void> {
  const child = Bun.spawn([process.execPath, join(root, program), ...words], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      TOLLGATE_DATA: folder,
      TOLLGATE_ENV_FILE: '/dev/null',
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const code = await child.exited;
  if (code !== 0) throw new Error(`${program} of ${root} ended with ${code}`);
}

async function timed(what: string, work: () => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  await work();
  console.log(`${what}: ${((performance.now() - startedAt) / 1000).toFixed(2)} s`);
}
