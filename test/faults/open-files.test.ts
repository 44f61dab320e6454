import { afterEach, describe, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { catalogFor } from '../support/gateway.ts';
import { BackendProcess, eventually, NodeProcess } from '../support/node-process.ts';
import { testPostgres } from '../support/postgres.ts';

const MAX_FILES = 256;
const REQUESTS = 400;
const CROWD = 1_200;
/** One token of output at $2 for a million. */
const PRICE_NANO_USD = 2_000;
const BALANCE_NANO_USD = 5_000_000_000;

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

const DATABASES = {
  SQLite: () => Promise.resolve({}),
  Postgres: async () => ({ databaseUrl: await (await testPostgres()).freshDatabase() }),
};

/**
 * A client with more connections than the process may have files. What it cannot serve is refused or waits; Bun itself
 * would end the process where a thread starts without a file.
 */
describe.each(Object.entries(DATABASES))('a limit of 256 open files on %s', (_, database) => {
  test('is told, survived by the process with exact money, and closes no backend', async () => {
    const backend = await BackendProcess.start();
    cleanUps.push(() => backend.stop());
    const yaml = catalogFor([backend.baseUrl], {
      prices: 'input: 0, output: 2',
      extra: 'limits: { chat_per_minute: 100000, concurrent: 1000 }',
    });
    const node = await NodeProcess.start({ yaml, maxFiles: MAX_FILES, ...(await database()) });
    cleanUps.push(() => node.stop());
    expect(node.log).toMatch(/"event":"open_files_limit","limit":256\b/);
    const made = await node.cli('account', 'create', 'crowd@example.com', '--balance', '5', '--json');
    const { token } = JSON.parse(made.output) as { token: string };

    const answers = await Promise.all(
      Array.from({ length: REQUESTS }, () => chat(node, token, { delayMs: 1_000 })),
    );
    expect(node.alive).toBe(true);
    const served = answers.filter((answer) => answer === 'served').length;
    const refused = answers.filter(
      (answer) => answer === 'service_unavailable' || answer === 'no connection',
    );
    expect(served + refused.length).toBe(REQUESTS);
    expect(served).toBeGreaterThan(0);

    await eventually('it answers again', async () => (await node.probe('/readyz')) === 200);
    expect(await chat(node, token)).toBe('served');
    await eventually('nothing is held', async () => (await money(node, token)).held === 0);
    expect((await money(node, token)).balance).toBe(BALANCE_NANO_USD - (served + 1) * PRICE_NANO_USD);
    expect((await node.cli('verify', '--full', '--json')).code).toBe(0);
  });
});

/** Connections that take a file each and never finish a request, though they send a byte of it every now and then. */
function openCrowd(url: string): { open: () => number } {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = Array.from({ length: CROWD }, () => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.write('GET /healthz HTTP/1.1\r\nhost: gate\r\nx-long: ');
    return socket;
  });
  const open = (): Socket[] => sockets.filter(({ destroyed }) => !destroyed);
  const timer = setInterval(() => open().forEach((socket) => socket.write('x')), 500);
  cleanUps.push(() => {
    clearInterval(timer);
    sockets.forEach((socket) => socket.destroy());
    return Promise.resolve();
  });
  return { open: () => open().length };
}

// Where there is no Linux, connections without a request are not told from others.
test.skipIf(process.platform !== 'linux')(
  'an address with more idle connections than there are files keeps nobody out',
  async () => {
    const backend = await BackendProcess.start();
    cleanUps.push(() => backend.stop());
    const node = await NodeProcess.start({ yaml: catalogFor([backend.baseUrl]), maxFiles: MAX_FILES });
    cleanUps.push(() => node.stop());
    const made = await node.cli('account', 'create', 'other@example.com', '--balance', '5', '--json');
    const { token } = JSON.parse(made.output) as { token: string };
    const crowd = openCrowd(node.url);
    await eventually('most of the files are taken', () => node.openSockets() > MAX_FILES / 2);

    // Until the crowd is cut down, a request may be told to come again. The server's own timeout would free its files too
    // late, half a minute after they were taken.
    const isServed = async () => (await chat(node, token, {}, AbortSignal.timeout(ANSWER_MS))) === 'served';
    await eventually('another client is served', isServed, 25_000);
    for (let requests = 0; requests < 5; requests++)
      expect(await chat(node, token, { delayMs: 300 })).toBe('served');
    // What it may have, it keeps.
    expect(crowd.open()).toBeGreaterThan(0);
  },
);

test('tollgate doctor tells a low limit', async () => {
  const node = await NodeProcess.start({});
  cleanUps.push(() => node.stop());
  const child = Bun.spawn(
    ['sh', '-c', 'ulimit -n 256; exec "$@"', 'sh', process.execPath, 'src/main/main.ts', 'doctor'],
    { env: { PATH: process.env['PATH'] ?? '', ...node.env }, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  expect(await new Response(child.stdout).text()).toContain(
    'open files: at most 256; a running request takes two.',
  );
  await child.exited;
});

type Answer = 'served' | 'service_unavailable' | 'no connection' | `unexpected ${string}`;

/** A connection that is not accepted by then is tried again. */
const ANSWER_MS = 10_000;

/** On a connection of its own. */
async function chat(node: NodeProcess, token: string, script = {}, signal?: AbortSignal): Promise<Answer> {
  try {
    const response = await fetch(`${node.url}/api/public/v1/chat/completions`, {
      method: 'POST',
      keepalive: false,
      ...(signal && { signal }),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        endpoint: 'svc_chat',
        model: 'm',
        max_tokens: 10,
        messages: [{ role: 'user', content: 'hi' }],
        script,
      }),
    });
    const text = await response.text();
    if (response.status === 200) return 'served';
    if (text.includes('"service_unavailable"') && response.headers.has('retry-after'))
      return 'service_unavailable';
    return `unexpected ${text}`;
  } catch {
    return 'no connection';
  }
}

async function money(node: NodeProcess, token: string): Promise<{ balance: number; held: number }> {
  const response = await fetch(`${node.url}/api/public/v1/account`, {
    keepalive: false,
    headers: { authorization: `Bearer ${token}` },
  });
  const { balance_usd, held_usd } = (await response.json()) as { balance_usd: number; held_usd: number };
  return { balance: nano(balance_usd), held: nano(held_usd) };
}

function nano(usd: number): number {
  return Math.round(usd * 1_000_000_000);
}
