import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { freePort } from '../support/free-port.ts';
import { METRICS_TOKEN } from '../support/leaks.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { testPostgres, type TestPostgres } from '../support/postgres.ts';

const YAML = `
upstreams:
  house: { kind: house }
lists:
  house_models:
    - { model: house-guide, display_name: Guide, input: 1, output: 2, context: 200000, max_output: 1000 }
endpoints:
  svc_chat: { name: chat, type: chat_completion, lists: [house_models], upstreams: [house] }
limits: { chat_per_minute: 100000, concurrent: 1000 }
`;

/** Several nodes behind one port of one machine: `TOLLGATE_WORKERS`. */

let postgres: TestPostgres;
let databaseUrl: string;
let node: NodeProcess;
let token: string;

beforeAll(async () => {
  postgres = await testPostgres();
  databaseUrl = await postgres.emptyDatabase();
  const port = await freePort();
  node = await NodeProcess.start({
    yaml: YAML,
    databaseUrl,
    env: {
      TOLLGATE_WORKERS: '2',
      TOLLGATE_PORT: String(port),
      TOLLGATE_LEASE_SECONDS: '2',
      TOLLGATE_DRAIN_SECONDS: '5',
    },
  });
  const made = await node.cli('account', 'create', 'worker@example.com', '--balance', '5', '--json');
  token = (JSON.parse(made.output) as { token: string }).token;
});

afterAll(async () => {
  await node.stop();
  await postgres.stop();
});

describe('two workers on one port', () => {
  test('both answer, and share one ledger', async () => {
    await eventually('both have served', async () => {
      await Promise.all(Array.from({ length: 20 }, () => ask()));
      return (await servingNodes()) === 2;
    });
    expect(await unsettled()).toBe(0);
  });

  test('have the same metrics, whichever is asked: no counter falls, also when one is killed', async () => {
    const before = await Promise.all(Array.from({ length: 12 }, () => scrape()));
    expect(new Set(before.map(({ requests }) => requests)).size).toBe(1);
    expect(before[0]?.processes).toBe(2);
    const settled = await number(`SELECT COUNT(*)::int AS value FROM request WHERE state = 'posted'`);
    expect(before[0]?.requests).toBe(settled);
    const [victim] = await workerPids();
    process.kill(victim ?? 0, 'SIGKILL');
    await eventually('it is replaced', async () => {
      const { requests, processes } = await scrape().catch(() => ({ requests: settled, processes: 0 }));
      expect(requests).toBe(settled);
      return processes === 2 && !(await workerPids()).includes(victim ?? 0);
    });
  });

  test('count wrong passwords together', async () => {
    const replies = await Promise.all(Array.from({ length: 24 }, (_, n) => signIn(`wrong ${n} wrong`)));
    expect(replies.filter((status) => status === 401)).toHaveLength(5);
    expect(replies.filter((status) => status === 429)).toHaveLength(19);
  });

  test('SIGHUP reaches both: each reloads the catalog', async () => {
    writeFileSync(join(node.folder, 'tollgate.yaml'), YAML.replaceAll('house-guide', 'house-echo'));
    node.signal('SIGHUP');
    for (const worker of [0, 1])
      await eventually(`worker ${worker} has reloaded`, () =>
        node.log
          .split('\n')
          .some((line) => line.includes('"catalog_reloaded"') && line.includes(`"worker":${worker}`)),
      );
    expect(await ask('house-echo')).toBe(200);
    expect(await ask('house-guide')).toBe(400);
    writeFileSync(join(node.folder, 'tollgate.yaml'), YAML);
    await eventually('both know the first model again', async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask()));
      return answers.every((status) => status === 200);
    });
  });

  test('one that dies is replaced, and the other answers in the meantime', async () => {
    const [victim] = await workerPids();
    process.kill(victim ?? 0, 'SIGKILL');
    await eventually('there are two again', async () => {
      const pids = await workerPids();
      return pids.length === 2 && !pids.includes(victim ?? 0);
    });
    await node.ready();
    expect(await ask()).toBe(200);
    expect(node.log).toContain('worker_exited');
  });

  test('a signal drains them all: not ready, yet served until connections are refused; the exit code is 0', async () => {
    node.signal('SIGTERM');
    await eventually('none is ready', async () => (await node.probe('/readyz')) === 503);
    const statuses = new Set<number>();
    for (let status = await ask(); status !== 0; status = await ask().catch(() => 0)) statuses.add(status);
    expect([...statuses]).toEqual([200]);
    expect(await node.exited()).toBe(0);
    expect(await unsettled()).toBe(0);
  });
});

test('a SQLite file is not shared: more workers than one are refused with the reason', async () => {
  const child = Bun.spawn([process.execPath, 'src/main/main.ts', 'serve'], {
    env: { PATH: process.env['PATH'] ?? '', TOLLGATE_WORKERS: '2' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  expect(await new Response(child.stderr).text()).toContain('TOLLGATE_WORKERS needs DATABASE_URL');
  expect(await child.exited).toBe(1);
});

/** A new connection each time, so that the kernel chooses a worker again. */
async function ask(model = 'house-guide'): Promise<number> {
  const response = await fetch(`${node.url}/api/public/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({
      endpoint: 'svc_chat',
      model,
      max_tokens: 20,
      messages: [{ role: 'user', content: 'Who is there?' }],
    }),
    keepalive: false,
  });
  await response.arrayBuffer();
  return response.status;
}

/** A new connection each time, as above. */
async function scrape(): Promise<{ requests: number; processes: number }> {
  const response = await fetch(`${node.url}/metrics`, {
    keepalive: false,
    headers: { connection: 'close', authorization: `Bearer ${METRICS_TOKEN}` },
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  const counts = [...text.matchAll(/^tollgate_requests_total\{.*\} (\d+)$/gm)].map(([, count]) =>
    Number(count),
  );
  return {
    requests: counts.reduce((sum, count) => sum + count, 0),
    processes: Number(/^tollgate_processes (\d+)$/m.exec(text)?.[1]),
  };
}

/** A new connection each time, as above. */
async function signIn(password: string): Promise<number> {
  const response = await fetch(`${node.url}/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', connection: 'close' },
    body: JSON.stringify({ email: 'worker@example.com', password }),
    keepalive: false,
  });
  await response.arrayBuffer();
  return response.status;
}

async function servingNodes(): Promise<number> {
  return await number(`SELECT COUNT(DISTINCT node)::int AS value FROM request WHERE state = 'posted'`);
}

async function unsettled(): Promise<number> {
  return await number(`SELECT COUNT(*)::int AS value FROM request WHERE state = 'pending'`);
}

async function number(sql: string): Promise<number> {
  const client = new Client(databaseUrl);
  await client.connect();
  try {
    return (await client.query<{ value: number }>(sql)).rows[0]?.value ?? -1;
  } finally {
    await client.end();
  }
}

async function workerPids(): Promise<number[]> {
  const text = await Bun.file(`/proc/${node.pid}/task/${node.pid}/children`).text();
  return text.trim().split(' ').filter(Boolean).map(Number);
}
