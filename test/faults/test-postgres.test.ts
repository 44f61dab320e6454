import { existsSync } from 'node:fs';
import { expect, test } from 'bun:test';
import { Client } from 'pg';
import { testPostgres } from '../support/postgres.ts';

const PATIENCE_MS = 30_000;

test(
  'a restarted server, orderly or not, keeps what was committed',
  async () => {
    const server = await testPostgres();
    const url = await server.freshDatabase();
    await query(url, 'CREATE TABLE kept (id INT)');
    for (const mode of ['fast', 'immediate'] as const) {
      await query(url, 'INSERT INTO kept VALUES (1)');
      await server.stopServer(mode);
      expect(query(url, 'SELECT 1')).rejects.toThrow();
      await server.startServer();
    }
    expect(await query(url, 'SELECT count(*) AS n FROM kept')).toEqual([{ n: '2' }]);
  },
  PATIENCE_MS,
);

test(
  'each suite has a database of its own, ordered like a language and not like bytes',
  async () => {
    const server = await testPostgres();
    const [one, two] = [await server.freshDatabase(), await server.freshDatabase()];
    await query(one, 'CREATE TABLE mine (id INT)');
    expect(query(two, 'SELECT * FROM mine')).rejects.toThrow();
    expect(await query(two, `SELECT 'a' < 'B' AS ordered`)).toEqual([{ ordered: true }]);
  },
  PATIENCE_MS,
);

test(
  'a killed process leaves neither server nor folder behind',
  async () => {
    const program = `
      import { startPostgres } from '${import.meta.dir}/../support/postgres.ts';
      const server = await startPostgres({ fsync: false });
      console.log(JSON.stringify({ folder: server.folder, url: await server.freshDatabase() }));
      await Bun.sleep(60_000);`;
    const child = Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe', stderr: 'inherit' });
    const { folder, url } = await firstLine(child.stdout);
    expect(await query(url, 'SELECT 1 AS alive')).toEqual([{ alive: 1 }]);
    child.kill('SIGKILL');
    await child.exited;
    while (existsSync(folder)) await Bun.sleep(10);
    expect(query(url, 'SELECT 1')).rejects.toThrow();
  },
  PATIENCE_MS,
);

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<{ folder: string; url: string }> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const part of stream) {
    text += decoder.decode(part, { stream: true });
    // The program prints this one object.
    if (text.includes('\n')) return JSON.parse(text) as { folder: string; url: string };
  }
  throw new Error('the process ended early');
}
