import { afterAll, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COMMIT_FILE, commitOf, releaseName } from './release.ts';

const folder = mkdtempSync(join(tmpdir(), 'tollgate-release-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the commit of what runs', () => {
  test('is that of the checkout, and says so when files were changed since', () => {
    const checkout = makeFolder('checkout');
    writeFileSync(join(checkout, 'file'), 'one');
    const commit = commitAll(checkout);
    expect(commitOf(checkout)).toBe(commit.slice(0, 12));
    writeFileSync(join(checkout, 'file'), 'two');
    expect(commitOf(checkout)).toBe(`${commit.slice(0, 12)}-dirty`);
  });

  test('of a package is what it was made with, never that of the checkout that it lies in', () => {
    const outer = makeFolder('outer');
    writeFileSync(join(outer, 'file'), 'not Tollgate');
    commitAll(outer);
    const inner = join(outer, 'node_modules/tollgate');
    mkdirSync(inner, { recursive: true });
    expect(commitOf(inner)).toBeUndefined();
    writeFileSync(join(inner, COMMIT_FILE), '0123456789ab\n');
    expect(commitOf(inner)).toBe('0123456789ab');
  });

  test.each(['', 'unknown', 'not a repository'])('is unknown where the file says %p', (text) => {
    const image = makeFolder(`image-${text.length}`);
    writeFileSync(join(image, COMMIT_FILE), text);
    expect(commitOf(image)).toBeUndefined();
  });

  test('is unknown, and nothing fails, on a machine without git', async () => {
    const child = Bun.spawn([process.execPath, 'src/main/main.ts', '--version', '--json'], {
      cwd: join(import.meta.dir, '../..'),
      env: { PATH: folder },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const printed = JSON.parse(await new Response(child.stdout).text()) as object;
    expect(await child.exited).toBe(0);
    expect(Object.keys(printed)).toEqual(['version']);
  });

  test('follows the version in brackets where it is known', () => {
    expect(releaseName({ version: '1.2.3', commit: '0123456789ab' })).toBe('1.2.3 (0123456789ab)');
    expect(releaseName({ version: '1.2.3', commit: undefined })).toBe('1.2.3');
  });
});

function makeFolder(name: string): string {
  const path = join(folder, name);
  mkdirSync(path);
  return path;
}

function commitAll(checkout: string): string {
  git(checkout, 'init', '--quiet');
  git(checkout, 'add', '--all');
  git(checkout, '-c', 'user.name=T', '-c', 'user.email=t@example.com', 'commit', '--quiet', '-m', 'One');
  return git(checkout, 'rev-parse', 'HEAD');
}

function git(checkout: string, ...words: readonly string[]): string {
  const { success, stdout, stderr } = Bun.spawnSync(['git', '-C', checkout, ...words]);
  expect({ success, words: stderr.toString() }).toEqual({ success: true, words: '' });
  return stdout.toString().trim();
}
