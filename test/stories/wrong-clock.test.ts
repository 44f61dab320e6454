import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { requestTime } from '../../src/std/ids.ts';
import { METRICS_TOKEN } from '../support/leaks.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { testPostgres } from '../support/postgres.ts';

/** Nodes whose machine has another time than the database. */

const HOUR_MS = 3_600_000;
const YAML = `
upstreams: { house: { kind: house } }
lists: { l: [ { model: house-echo, free: true } ] }
endpoints: { c: { name: c, type: chat_completion, lists: [l], upstreams: [house] } }
`;

function wrongBy(shiftMs: number, databaseUrl?: string): Parameters<typeof NodeProcess.start>[0] {
  return {
    yaml: YAML,
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
    env: { SHIFTED_CLOCK_MS: String(shiftMs) },
    bunFlags: ['--preload', join(import.meta.dir, '../support/shifted-clock.ts')],
  };
}

describe.each([
  ['ahead of', 30_000],
  ['behind', -30_000],
])('a node half a minute %s its Postgres', (word, shiftMs) => {
  let node: NodeProcess;
  beforeAll(async () => {
    node = await NodeProcess.start(wrongBy(shiftMs, await (await testPostgres()).freshDatabase()));
  }, 60_000);
  afterAll(() => node.stop());

  test('gives its requests the time of the database', async () => {
    const { output } = await node.cli('account', 'create', 'ann@example.com', '--balance', '1', '--json');
    const { token } = JSON.parse(output) as { token: string };
    const before = Date.now();
    const response = await fetch(`${node.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'house-echo', messages: [{ role: 'user', content: 'hello' }] }),
    });
    expect(response.status).toBe(200);
    const time = requestTime(response.headers.get('x-request-id') ?? '');
    const uncorrected = before + shiftMs;
    expect(Math.abs(time - before)).toBeLessThan(Math.abs(time - uncorrected));
  });

  test('says so in the log, the metrics and doctor', async () => {
    await eventually('it is in the log', () => node.log.includes('"check":"clock"'));
    expect(node.log).toContain(`this machine is 30 seconds ${word} the database`);
    const metrics = await fetch(`${node.url}/metrics`, {
      headers: { authorization: `Bearer ${METRICS_TOKEN}` },
    });
    const ahead = /^tollgate_clock_ahead_seconds (\S+)$/m.exec(await metrics.text())?.[1];
    expect(Math.round(Number(ahead) * 1000 - shiftMs)).toBeWithin(-1_500, 1_500);
    const doctor = await node.cli('doctor');
    expect(doctor.code).toBe(1);
    expect(doctor.output).toMatch(
      new RegExp(`^✗ clock: this machine is 30 seconds ${word} the database`, 'm'),
    );
  });
});

test('a node that is 25 hours ahead of its Postgres does not start, and says why', async () => {
  const options = wrongBy(25 * HOUR_MS, await (await testPostgres()).freshDatabase());
  await expect(NodeProcess.start(options)).rejects.toThrow(
    'Tollgate cannot start: The clock is wrong: this machine is 90000 seconds ahead of the database',
  );
}, 60_000);

test('on SQLite the clock of the machine is the one that counts', async () => {
  const node = await NodeProcess.start(wrongBy(25 * HOUR_MS));
  expect(node.log).not.toContain('"check":"clock"');
  await node.stop();
}, 60_000);
