import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalogFor } from '../support/gateway.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { PIXEL_BASE64, ScriptedBackend } from '../support/scripted-backend.ts';

/** A node that dies while it writes images to its data folder. */

const SIZE = 2_000_000;
const AT_ONCE = 16;
const backend = new ScriptedBackend();
let node: NodeProcess;
let operator: Operator;

beforeAll(async () => {
  const pixel = Buffer.from(PIXEL_BASE64, 'base64');
  backend.script(() => {
    const b64_json = Buffer.concat([pixel, randomBytes(SIZE)]).toString('base64');
    return Response.json({ created: 1, data: [{ b64_json }] });
  });
  node = await NodeProcess.start({
    yaml: catalogFor([backend.baseUrl]),
    env: { TOLLGATE_LEASE_SECONDS: '4' },
  });
  operator = await Operator.open(node.env);
}, 120_000);
afterAll(async () => {
  await operator.close();
  await node.stop();
  await backend.stop();
});

test('kill -9 leaves no half file under the name of an image, and every image that was answered is whole', async () => {
  const { token, id } = await operator.account('100');
  const answered: string[] = [];
  let isOver = false;
  const paint = async (): Promise<void> => {
    while (!isOver) {
      const response = await fetch(`${node.url}/api/public/v1/images/generations`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ endpoint: 'svc_tgter', model: 'p', prompt: 'a gate' }),
      });
      const { data } = (await response.json()) as { data: { url: string }[] };
      answered.push(new URL(data[0]!.url).pathname.split('/').at(-1)!);
    }
  };
  const painters = Array.from({ length: AT_ONCE }, () => paint().catch(() => undefined));
  await eventually('some are answered', () => answered.length >= AT_ONCE);
  await node.kill();
  isOver = true;
  await Promise.all(painters);
  const folder = join(node.folder, 'data', 'images', id);
  for (const name of readdirSync(folder)) {
    const hash = createHash('sha256').update(readFileSync(join(folder, name)));
    expect(hash.digest('hex')).toBe(name.slice(0, 64));
  }
  await node.restart();
  const { db } = operator.services.store;
  const rows = await db.selectFrom('image').select(['id', 'object']).where('account_id', '=', id).execute();
  expect(rows.map((row) => row.id)).toEqual(expect.arrayContaining(answered));
  for (const { object } of rows) expect(existsSync(join(node.folder, 'data', 'images', object!))).toBe(true);
  await operator.settled();
  expect((await node.cli('verify', '--json')).code).toBe(0);
}, 120_000);
