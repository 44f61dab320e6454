import { afterEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database } from 'bun:sqlite';
import { Operator } from '../support/operator.ts';
import { PROGRAM } from '../support/node-process.ts';

/** A database that this version must not touch: the server does not start, and the doctor says the same. */

const DEADLINE_MS = 60_000;

let dataDir = '';
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

function change(...statements: readonly string[]): void {
  using database = new Database(join(dataDir, 'tollgate.db'));
  for (const statement of statements) database.run(statement);
}

async function tollgate(command: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = {
    PATH: process.env['PATH'],
    TOLLGATE_DATA: dataDir,
    TOLLGATE_PORT: '0',
  };
  // Should it be served after all, the test must fail and not leave a server behind.
  await using child = Bun.spawn([...PROGRAM, command], {
    cwd: dataDir,
    env,
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: DEADLINE_MS / 3,
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

const EDITED = `Step 1 ('baseline') of the database's schema is not the one that this version of Tollgate has: the database was made by a version that was never released, or the step was edited since. Start the version that made the database, or start with an empty database.`;
const UNRELEASED =
  'The database was made by a version of Tollgate from before the first release, which no release can continue. Start with an empty database.';

describe('a database that is refused', () => {
  test.each([
    ['a step was edited', EDITED, [`UPDATE schema_step SET checksum = 'x'`]],
    [
      'made before the first release',
      UNRELEASED,
      ['CREATE TABLE schema_version (number INTEGER)', 'DROP TABLE schema_step'],
    ],
  ])(
    '%s: nothing is served, and the doctor says the same sentence',
    async (_, sentence, statements) => {
      dataDir = mkdtempSync(join(tmpdir(), 'tollgate-refused-'));
      await (await Operator.open({ TOLLGATE_DATA: dataDir })).close();
      change(...statements);
      expect(await tollgate('serve')).toMatchObject({
        code: 1,
        stdout: '',
        stderr: `Tollgate cannot start: ${sentence}\n`,
      });
      const { code, stdout } = await tollgate('doctor');
      expect(stdout.split('\n')).toContain(`✗ store: ${sentence}`);
      expect(code).toBe(1);
    },
    DEADLINE_MS,
  );
});
