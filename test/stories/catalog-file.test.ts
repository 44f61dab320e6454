import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';

/** Where the catalog is the operator's file, it is changed there alone. */

const catalogWith = (input: number): string => `
upstreams: { house: { kind: house } }
lists: { models: [{ model: house-echo, input: ${input}, output: 200 }] }
endpoints: { svc_house: { name: house, type: chat_completion, lists: [models], upstreams: [house] } }
`;

/** What a command exits with that is refused as things are. */
const REFUSED = 4;

let node: NodeProcess;
let operator: Operator;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-catalog-file-'));
  node = await NodeProcess.start({ yaml: catalogWith(50) });
  operator = await Operator.open(node.env);
}, 60_000);
afterAll(async () => {
  await operator.close();
  await node.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('nothing is published or planned beside the file, by no door, and every attempt is in the audit log', async () => {
  const page = (path: string, body: object, cookie = '') =>
    fetch(`${node.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', cookie },
      body: JSON.stringify(body),
    });
  const setup = /\/setup\/(\S+)/.exec(node.greeting)?.[1];
  const owner = { token: setup, email: 'owner@example.com', password: 'a perfectly fine phrase' };
  const cookie = (await page('/api/console/setup', owner)).headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  const wanted = { name: 'a program', role: 'full', expiresAt: Date.now() + 86_400_000 };
  const { token } = (await (await page('/api/console/admin/operator-tokens', wanted, cookie)).json()) as {
    token: string;
  };
  const draft = { yaml: catalogWith(60), note: '', revision: 0 };
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  for (const from of [undefined, Date.now() + 3_600_000, Date.now() - 3_600_000]) {
    const body = JSON.stringify({ ...draft, ...(from !== undefined && { from }) });
    for (const answer of [
      await fetch(`${node.url}/api/operator/v1/catalog`, { method: 'POST', headers, body }),
      await page('/api/console/admin/catalog', JSON.parse(body) as object, cookie),
    ])
      expect(await answer.json()).toMatchObject({ error: { code: 'read_only' } });
  }
  const path = join(folder, 'new.yaml');
  writeFileSync(path, catalogWith(60));
  for (const command of [
    ['catalog', 'publish', path, '--from', '2030-01-01'],
    ['catalog', 'publish', path],
    ['catalog', 'plans', '--cancel'],
  ]) {
    const { code } = await node.cli(...command);
    expect([command, code]).toEqual([command, REFUSED]);
  }
  const { db } = operator.services.store;
  expect(await db.selectFrom('catalog_plan').selectAll().execute()).toEqual([]);
  expect(await db.selectFrom('catalog_version').selectAll().execute()).toEqual([]);
  const refused = await db
    .selectFrom('audit')
    .select('detail')
    .where('action', '=', 'catalog.save.refused')
    .execute();
  expect(refused.map(({ detail }) => (JSON.parse(detail) as { code: string }).code)).toEqual(
    Array<string>(6).fill('read_only'),
  );
}, 60_000);
