import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Subprocess } from 'bun';
import { version } from '../../package.json' with { type: 'json' };
import { commitOf, releaseName, type Release } from '../../src/std/release.ts';

/** What `npm run build` and `npm run package` make, run by somebody who has nothing else. */

const ROOT = join(import.meta.dir, '../..');
const BUILD_MS = 120_000;
const folder = mkdtempSync(join(tmpdir(), 'tollgate-binary-'));
/** Built already where all tests run. */
const built = process.env['TOLLGATE_TEST_BINARY'];
const running = new Set<Subprocess>();

/** A program that is ready to be started, and the only variables that it finds. */
interface Installed {
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
}

const DELIVERED: Record<string, () => Promise<Installed>> = {
  'the binary alone': async () => {
    const program = built ?? join(folder, 'bin/tollgate');
    if (built === undefined) await runScript('build.ts', program);
    // Nothing of the build machine: no Bun in the path, no cache, no sources.
    return { program, env: {} };
  },
  'the npm package': async () => {
    await runScript('package.ts', folder);
    const modules = join(folder, 'installed/node_modules');
    await installPackage(join(folder, `tollgate-${version}.tgz`), modules);
    // What a shell script needs to find itself.
    return { program: join(modules, '.bin/tollgate'), env: { PATH: '/usr/bin:/bin' } };
  },
};

afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

describe.each(Object.entries(DELIVERED))('%s in an empty folder', (_, install) => {
  let installed: Installed;
  beforeAll(async () => {
    installed = await install();
  }, BUILD_MS);

  const run = (home: string, ...words: readonly string[]) => outputOf(spawn(installed, home, words));
  const serve = (home: string) => whenReady(spawn(installed, home, ['serve']));

  test('says its version and commit in a shell, in the console and in the metrics', async () => {
    const home = emptyFolder();
    const { code, output } = await run(home, '--version');
    expect(code).toBe(0);
    expect(output).toMatch(
      commitOf(ROOT) === undefined ? /^[\d.]+\n$/ : /^[\d.]+ \([0-9a-f]{12}(-dirty)?\)\n$/,
    );
    const said = JSON.parse((await run(home, '--version', '--json')).output) as Release;
    expect(said.version).toBe(version);
    expect(releaseName(said)).toBe(output.trim());

    const { child, url } = await serve(home);
    const session = (await (await fetch(`${url}/api/console/session`)).json()) as unknown;
    expect(session).toMatchObject({ site: { version: output.trim() } });
    const token = (await run(home, 'metrics', 'token')).output.trim();
    const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    expect(await metrics.text()).toContain(
      `tollgate_build_info{version="${version}",commit="${said.commit ?? ''}",`,
    );
    child.kill('SIGTERM');
    expect(await child.exited).toBe(0);
  });

  test('serves a chat, a count of tokens, an image and the console, and ends with 0 on SIGTERM', async () => {
    const home = emptyFolder();
    const { child, url } = await serve(home);
    const made = await run(home, 'account', 'create', 'you@example.com', '--balance', '5', '--json');
    const { token } = JSON.parse(made.output) as { token: string };

    const chat = await post(`${url}/v1/chat/completions`, token, {
      model: 'house-echo',
      messages: [{ role: 'user', content: 'from a binary' }],
    });
    expect(chat).toMatchObject({ choices: [{ message: { content: 'from a binary' } }] });

    const counted = await post(`${url}/v1/messages/count_tokens`, token, {
      model: 'house-echo',
      messages: [{ role: 'user', content: 'from a binary' }],
    });
    expect(counted).toEqual({ input_tokens: 10 });

    const painted = await post(`${url}/v1/images/generations`, token, {
      model: 'house-paint',
      prompt: 'a lake at night',
      size: '256x256',
      response_format: 'b64_json',
    });
    expect(signatureOf(painted)).toBe('PNG');

    const page = await text(`${url}/`, 'text/html');
    const script = /<script type="module" src="([^"]+)"/.exec(page)?.[1] ?? 'no script in the page';
    expect((await text(url + script, 'text/javascript')).length).toBeGreaterThan(1_000);

    child.kill('SIGTERM');
    expect(await child.exited).toBe(0);
  });

  test('takes options of Bun: a profile of its whole life is written', async () => {
    const home = emptyFolder();
    const options = { BUN_OPTIONS: `--cpu-prof --cpu-prof-dir=${home}/profiles` };
    const profiled = { ...installed, env: { ...installed.env, ...options } };
    const { child } = await whenReady(spawn(profiled, home, ['serve']));
    child.kill('SIGTERM');
    expect(await child.exited).toBe(0);
    expect(readdirSync(join(home, 'profiles'))).toHaveLength(1);
  });

  test('makes its own certificate and serves https with it', async () => {
    const home = emptyFolder();
    writeFileSync(join(home, 'tollgate.yaml'), CATALOG);
    const { child, url } = await serve(home);
    const ca = await Bun.file(join(home, 'data/tls-cert.pem')).text();
    const response = await fetch(`${url}/readyz`, { tls: { ca } });
    expect(response.status).toBe(200);
    child.kill('SIGTERM');
    expect(await child.exited).toBe(0);
  });
});

const CATALOG = `
tls: self-signed
upstreams:
  house: { kind: house }
lists:
  chats: [{ model: house-echo, free: true, context: 1000, max_output: 100 }]
endpoints:
  svc_chat: { name: Chat, type: chat_completion, lists: [chats], upstreams: [house] }
`;

let homes = 0;

function emptyFolder(): string {
  const home = join(folder, `home-${++homes}`);
  mkdirSync(home);
  return home;
}

/** As `npm install` would, from the packages that are here: those of the package's own manifest and what they need. */
async function installPackage(file: string, modules: string): Promise<void> {
  const target = join(modules, 'tollgate');
  mkdirSync(target, { recursive: true });
  mkdirSync(join(modules, '.bin'));
  await outputOf(Bun.spawn(['tar', '-xzf', file, '--strip-components=1', '-C', target], { stdout: 'pipe' }));
  const names = new Set(Object.keys((await manifestIn(target)).dependencies ?? {}));
  for (const name of names) {
    const source = join(ROOT, 'node_modules', name);
    // Packages of other platforms are not there.
    if (!existsSync(source)) continue;
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(source, join(modules, name));
    const { dependencies, optionalDependencies, bin } = await manifestIn(source);
    for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) names.add(needed);
    for (const [command, path] of Object.entries(bin ?? {})) {
      symlinkSync(join('..', name, path), join(modules, '.bin', command));
    }
  }
  symlinkSync('../tollgate/bin/tollgate', join(modules, '.bin/tollgate'));
}

interface PackageManifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
}

async function manifestIn(path: string): Promise<PackageManifest> {
  return (await Bun.file(join(path, 'package.json')).json()) as PackageManifest;
}

async function runScript(name: string, argument: string): Promise<void> {
  const child = Bun.spawn([process.execPath, join(ROOT, 'scripts', name), argument], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  expect(await child.exited).toBe(0);
}

type Program = Subprocess<'ignore', 'pipe', 'inherit'>;

function spawn({ program, env }: Installed, home: string, words: readonly string[]): Program {
  const child = Bun.spawn([program, ...words], {
    cwd: home,
    env: { ...env, HOME: home, TOLLGATE_PORT: '0', TOLLGATE_DRAIN_SECONDS: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.add(child);
  void child.exited.then(() => running.delete(child));
  return child;
}

async function outputOf(child: Program): Promise<{ code: number; output: string }> {
  const output = await new Response(child.stdout).text();
  return { code: await child.exited, output };
}

async function whenReady(child: Program): Promise<{ child: Subprocess; url: string }> {
  let greeting = '';
  for await (const bytes of child.stdout) {
    greeting += Buffer.from(bytes).toString('utf8');
    const url = /ready at (\S+)/.exec(greeting)?.[1];
    if (url !== undefined) return { child, url };
  }
  throw new Error(`the server ended with ${await child.exited} before it was ready: ${greeting}`);
}

async function post(url: string, token: string, body: unknown): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer: unknown = await response.json();
  expect({ status: response.status, answer }).toEqual({ status: 200, answer });
  return answer;
}

async function text(url: string, mime: string): Promise<string> {
  const response = await fetch(url);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain(mime);
  return await response.text();
}

/** The letters in a PNG's first bytes. */
function signatureOf(answer: unknown): string {
  const { data } = answer as { data: { b64_json: string }[] };
  return Buffer.from(data[0]?.b64_json ?? '', 'base64')
    .subarray(1, 4)
    .toString('latin1');
}
