import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readTls } from '../../src/http/tls.ts';
import { PROGRAM } from '../support/node-process.ts';

/** A server that cannot listen says why in one line and exits with 1. */

const LOW_PORT = 81;
let taken: ReturnType<typeof Bun.serve>;

beforeAll(() => {
  taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
});
afterAll(async () => {
  await taken.stop(true);
});

describe('a server that cannot listen', () => {
  test('a port in use', async () => {
    expect(await serve({ TOLLGATE_PORT: String(taken.port) })).toEqual({
      code: 1,
      stderr: `Tollgate cannot start: Port ${taken.port} on 127.0.0.1 is already in use. Stop what listens there, or choose another port with TOLLGATE_PORT.\n`,
    });
  });

  test.each(['192.0.2.7', '2001:db8::1', 'not an address'])(
    'an address that is not of this machine: %s',
    async (host) => {
      expect(await serve({ TOLLGATE_PORT: '0', TOLLGATE_HOST: host })).toEqual({
        code: 1,
        stderr: `Tollgate cannot start: '${host}' is not an address of this machine. Set TOLLGATE_HOST to one, such as 127.0.0.1, or 0.0.0.0 for all.\n`,
      });
    },
  );

  // Containers often allow every port to everybody.
  test.skipIf(lowPortsAreFree())('a port that this user may not use', async () => {
    // Root may use all, unless this one right is taken away.
    const unprivileged =
      process.getuid?.() === 0
        ? ['setpriv', '--bounding-set', '-net_bind_service', '--inh-caps', '-net_bind_service']
        : [];
    expect(await serve({ TOLLGATE_PORT: String(LOW_PORT) }, unprivileged)).toEqual({
      code: 1,
      stderr: `Tollgate cannot start: Listening on port ${LOW_PORT} of 127.0.0.1 is not permitted. Choose a port from 1024 with TOLLGATE_PORT, or allow this user to use lower ones.\n`,
    });
  });
});

describe('a certificate and a key that do not belong together', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-before-'));
  const config = join(folder, 'a.yaml');
  const [cert, key] = [join(folder, 'one/tls-cert.pem'), join(folder, 'other/tls-key.pem')];
  const sentence = `The certificate ${cert} and the key ${key} do not belong together.`;
  beforeAll(async () => {
    for (const name of ['one', 'other']) {
      mkdirSync(join(folder, name));
      await readTls({ kind: 'self-signed' }, join(folder, name));
    }
    const { stdout } = await command(folder, {}, 'catalog', 'example');
    writeFileSync(config, `${stdout}\ntls: { cert: ${cert}, key: ${key} }\n`);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('are one sentence at the start', async () => {
    expect(await serve({ TOLLGATE_PORT: '0', TOLLGATE_CONFIG: config })).toEqual({
      code: 1,
      stderr: `Tollgate cannot start: ${sentence}\n`,
    });
  });

  test('`catalog check` finds them before, and `doctor` them and a port that something else uses', async () => {
    const check = await command(folder, {}, 'catalog', 'check', config);
    expect({ code: check.code, found: check.stdout.includes(sentence) }).toEqual({ code: 1, found: true });
    const env = { TOLLGATE_PORT: String(taken.port), TOLLGATE_CONFIG: config };
    const doctor = await command(folder, env, 'doctor');
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toContain(`✗ tls: ${sentence}`);
    expect(doctor.stdout).toContain(`✗ address: Port ${taken.port} on 127.0.0.1 is already in use.`);
  });
});

async function command(
  folder: string,
  env: Readonly<Record<string, string>>,
  ...words: string[]
): Promise<{ code: number; stdout: string }> {
  const child = Bun.spawn([...PROGRAM, ...words], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const stdout = await new Response(child.stdout).text();
  return { code: await child.exited, stdout };
}

async function serve(
  env: Readonly<Record<string, string>>,
  prefix: readonly string[] = [],
): Promise<{ code: number; stderr: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-listen-'));
  try {
    const child = Bun.spawn([...prefix, ...PROGRAM, 'serve'], {
      cwd: folder,
      env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const stderr = await new Response(child.stderr).text();
    return { code: await child.exited, stderr };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function lowPortsAreFree(): boolean {
  if (process.platform !== 'linux') return true;
  return Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8')) <= LOW_PORT;
}
