import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Subprocess } from 'bun';
import { version } from '../../package.json' with { type: 'json' };

/** The result of `npm run build`, run by somebody who has only this file. */

const BUILD_MS = 120_000;
const folder = mkdtempSync(join(tmpdir(), 'tollgate-binary-'));
/** Built already where all tests run. */
const built = process.env['TOLLGATE_TEST_BINARY'];
const binary = built ?? join(folder, 'bin/tollgate');
const running = new Set<Subprocess>();

beforeAll(async () => {
  if (built !== undefined) return;
  const build = Bun.spawn([process.execPath, join(import.meta.dir, '../../scripts/build.ts'), binary], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  expect(await build.exited).toBe(0);
}, BUILD_MS);

afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

describe('the binary alone in an empty folder', () => {
  test('prints its version', async () => {
    const { code, output } = await run(emptyFolder(), '--version');
    expect({ code, output }).toEqual({ code: 0, output: `${version}\n` });
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

function spawn(home: string, words: readonly string[]): Subprocess<'ignore', 'pipe', 'inherit'> {
  const child = Bun.spawn([binary, ...words], {
    cwd: home,
    // Nothing of the build machine: no Bun in the path, no cache, no sources.
    env: { HOME: home, TOLLGATE_PORT: '0', TOLLGATE_DRAIN_SECONDS: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.add(child);
  void child.exited.then(() => running.delete(child));
  return child;
}

async function run(home: string, ...words: readonly string[]): Promise<{ code: number; output: string }> {
  const child = spawn(home, words);
  const output = await new Response(child.stdout).text();
  return { code: await child.exited, output };
}

async function serve(home: string): Promise<{ child: Subprocess; url: string }> {
  const child = spawn(home, ['serve']);
  let greeting = '';
  for await (const bytes of child.stdout) {
    greeting += Buffer.from(bytes).toString('utf8');
    const url = /ready at (\S+)/.exec(greeting)?.[1];
    if (url !== undefined) return { child, url };
  }
  throw new Error(`the binary ended with ${await child.exited} before it was ready: ${greeting}`);
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
