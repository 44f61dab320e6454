import { mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '../..');

/** A folder with the files of that commit, and with the packages of this one: their versions are the same. */
export function checkOut(revision: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-old-'));
  const script = 'git -C "$1" archive "$2" | tar -x -C "$3"';
  const { exitCode } = Bun.spawnSync(['sh', '-c', script, 'sh', ROOT, revision, folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (exitCode !== 0) throw new Error(`${revision} could not be read`);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}
