import { afterEach, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTollgate, type Tollgate } from '../../src/main/compose.ts';
import { readConfig } from '../../src/main/config.ts';
import { makeLog } from '../../src/std/log.ts';
import { eventually } from '../support/node-process.ts';

/** A data folder belongs to one server, and its files to one user. */

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function dataFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-one-'));
  folders.push(folder);
  return join(folder, 'data');
}

function start(data: string, graceSeconds: number, lines: string[] = []): Promise<Tollgate> {
  const env = {
    TOLLGATE_DATA: data,
    TOLLGATE_PORT: '0',
    TOLLGATE_DRAIN_SECONDS: '0',
    TOLLGATE_GRACE_SECONDS: String(graceSeconds),
  };
  return startTollgate(
    readConfig(env),
    makeLog((line) => lines.push(line)),
  );
}

test('a second server waits while the first one ends, and then serves', async () => {
  const data = dataFolder();
  const first = await start(data, 60);
  const lines: string[] = [];
  const second = start(data, 600, lines);
  // A failure is the test's, below.
  second.catch(() => undefined);
  await eventually('it waits', () => lines.some((line) => line.includes('waiting_for_other_server')));
  await first.stop(0);
  const { url, stop } = await second;
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  await stop(0);
});

test('a second server beside one that stays is refused with one sentence', async () => {
  const data = dataFolder();
  const first = await start(data, 60);
  await expect(start(data, 0)).rejects.toThrow(
    `Another server is running on the data folder ${data}. Stop it, or set TOLLGATE_DATA to another folder.`,
  );
  expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
  await first.stop(0);
});

test('every file in the data folder is readable by its owner alone, in a folder that others can enter too', async () => {
  const data = dataFolder();
  mkdirSync(data);
  chmodSync(data, 0o755);
  const tollgate = await start(data, 0);
  const modes = readdirSync(data).map((name) => [
    name,
    (statSync(join(data, name)).mode & 0o777).toString(8),
  ]);
  expect(modes.length).toBeGreaterThanOrEqual(4);
  expect(modes.filter(([, mode]) => mode !== '600')).toEqual([]);
  await tollgate.stop(0);
});
