import { afterAll, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What an operator does as root, beside a service that runs as somebody else. */

const MAIN = join(import.meta.dir, '../../src/main/main.ts');
const folder = mkdtempSync(join(tmpdir(), 'tollgate-root-'));
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A user without an entry in `/etc/passwd`, as in a container. */
const SERVICE = 54_321;
const isRoot = process.getuid?.() === 0;

async function tollgate(words: readonly string[], env: Record<string, string>) {
  const child = Bun.spawn([process.execPath, MAIN, ...words], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, TOLLGATE_ENV_FILE: '/dev/null', ...env },
    stdin: null,
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, out, err };
}

function dataFolder(name: string): string {
  const path = join(folder, name);
  mkdirSync(path, { mode: 0o700 });
  chownSync(path, SERVICE, SERVICE);
  return path;
}

function ownersIn(path: string): number[] {
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' });
  return [...new Set(names.map((name) => statSync(join(path, name)).uid))];
}

describe.skipIf(!isRoot)('a command of root', () => {
  test('leaves only files of the owner of the data folder', async () => {
    const data = dataFolder('created');
    const created = await tollgate(['account', 'create', 'ann@example.com', '--json'], {
      TOLLGATE_DATA: data,
    });
    expect(created).toMatchObject({ code: 0, err: '' });
    await tollgate(['doctor'], { TOLLGATE_DATA: data, TOLLGATE_PORT: '0' });
    expect(readdirSync(data)).toContain('tollgate.db');
    expect(ownersIn(data)).toEqual([SERVICE]);
  });

  test('makes a secret and a backup that the owner can read', async () => {
    const data = dataFolder('rotated');
    await tollgate(['account', 'create', 'ann@example.com'], { TOLLGATE_DATA: data });
    const rotated = await tollgate(['secret', 'rotate'], { TOLLGATE_DATA: data });
    expect(rotated.code).toBe(0);
    const backup = await tollgate(['backup', join(data, 'copy.db')], { TOLLGATE_DATA: data });
    expect(backup.code).toBe(0);
    expect(ownersIn(data)).toEqual([SERVICE]);
    const elsewhere = await tollgate(['backup', join(folder, 'copy.db')], { TOLLGATE_DATA: data });
    expect(elsewhere.code).toBe(4);
    expect(elsewhere.err).toContain(`cannot write to ${folder}`);
  });

  test('reads the settings that only root may read before it acts as the owner', async () => {
    const data = dataFolder('settings');
    const file = join(folder, 'of-root.env');
    writeFileSync(file, `TOLLGATE_DATA=${data}\nTOLLGATE_PORT=0\n`, { mode: 0o600 });
    await tollgate(['account', 'create', 'ann@example.com'], { TOLLGATE_ENV_FILE: file });
    const doctor = await tollgate(['doctor'], { TOLLGATE_ENV_FILE: file });
    expect(doctor.err).not.toContain('cannot be read');
    expect(doctor.out).toContain(`data folder: ${data}`);
  });

  test('says in doctor which files the server may be unable to read', async () => {
    const data = dataFolder('mixed');
    await tollgate(['account', 'create', 'ann@example.com'], { TOLLGATE_DATA: data });
    chownSync(join(data, 'secret'), 0, 0);
    const doctor = await tollgate(['doctor'], { TOLLGATE_DATA: data, TOLLGATE_PORT: '0' });
    expect(doctor.code).toBe(1);
    expect(doctor.out).toMatch(/^✗ data folder: .* but not secret/m);
    expect(doctor.out).toContain(`chown -R ${SERVICE}:${SERVICE} ${data}`);
  });
});

describe('the file with settings', () => {
  const file = join(folder, 'tollgate.env');
  writeFileSync(
    file,
    `# shared by the service and the shell\nTOLLGATE_DATA=${join(folder, 'from-file')}\nTOLLGATE_PORT="9123"\nTOLLGATE_SECRET='a#secret of the file'\n`,
  );

  async function settings(env: Record<string, string>) {
    const { out } = await tollgate(['config', '--json'], { TOLLGATE_ENV_FILE: file, ...env });
    const { settings: all } = JSON.parse(out) as {
      settings: { name: string; value: unknown; source: string }[];
    };
    return Object.fromEntries(all.map(({ name, value, source }) => [name, [value, source]]));
  }

  test('is what commands use, and the environment wins over it', async () => {
    const shown = await settings({ TOLLGATE_PORT: '9456' });
    expect(shown['TOLLGATE_DATA']).toEqual([join(folder, 'from-file'), file]);
    expect(shown['TOLLGATE_SECRET']).toEqual(['(hidden)', file]);
    expect(shown['TOLLGATE_PORT']).toEqual([9456, 'environment']);
    expect((await settings({}))['TOLLGATE_PORT']).toEqual([9123, file]);
  });

  test('is refused with its line where systemd would read something else', async () => {
    const odd = join(folder, 'odd.env');
    writeFileSync(odd, 'TOLLGATE_PORT=9123\nexport TOLLGATE_HOST=::1\n');
    const ran = await tollgate(['config'], { TOLLGATE_ENV_FILE: odd });
    expect(ran.code).toBe(2);
    expect(ran.err).toContain(`${odd}, line 2: must be NAME=value`);
    expect((await tollgate(['--help'], { TOLLGATE_ENV_FILE: odd })).code).toBe(0);
  });

  test('is refused where it is named and not there', async () => {
    const ran = await tollgate(['config'], { TOLLGATE_ENV_FILE: join(folder, 'nowhere.env') });
    expect(ran).toMatchObject({ code: 2, out: '' });
    expect(ran.err).toContain('ENOENT');
  });
});
