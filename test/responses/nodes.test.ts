import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalogFor, type TestAccount } from '../support/gateway.ts';
import { NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';
import { chunk, completion, DONE, eventStream, ScriptedBackend, usage } from '../support/scripted-backend.ts';
import type { SeenResponse } from './stored-responses.ts';

/** Stored responses across processes: on another node, after kill -9, and on the disk. */

const MARK = 'a remark that nobody may find in clear text';
const PATIENCE_MS = 120_000;

async function ask(url: string, { token }: TestAccount, body: object): Promise<Response> {
  return await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc_chat/m', input: 'Hi', ...body }),
  });
}

async function idOf(response: Response): Promise<string> {
  expect(response.status).toBe(200);
  return ((await response.json()) as SeenResponse).id;
}

describe('two nodes on one Postgres', () => {
  const backend = new ScriptedBackend();
  let nodes: NodeProcess[];
  let operator: Operator;

  beforeAll(async () => {
    const databaseUrl = await (await testPostgres()).freshDatabase();
    const options = { yaml: catalogFor([backend.baseUrl]), databaseUrl };
    nodes = [await NodeProcess.start(options), await NodeProcess.start(options)];
    operator = await Operator.open(nodes[0]?.env ?? {});
  }, PATIENCE_MS);
  afterAll(async () => {
    expect((await operator.verify()).breaches).toEqual([]);
    await operator.close();
    for (const node of nodes) await node.stop();
    await backend.stop();
  });

  test(
    'each turn finds the answer that the other node has just given, and a deletion on one ends it on both',
    async () => {
      const account = await operator.account('10');
      backend.script(() => completion('ok', usage(3, 3)));
      let previous: string | undefined;
      for (let turn = 0; turn < 20; turn++) {
        const url = nodes[turn % 2]?.url ?? '';
        previous = await idOf(
          await ask(url, account, { previous_response_id: previous, input: `turn ${turn}` }),
        );
      }
      const { messages } = backend.calls.at(-1)?.body as { messages: unknown[] };
      expect(messages).toHaveLength(39);
      const headers = { authorization: `Bearer ${account.token}` };
      const path = `/v1/responses/${previous}`;
      expect((await fetch(`${nodes[0]?.url}${path}`, { method: 'DELETE', headers })).status).toBe(200);
      expect((await fetch(`${nodes[1]?.url}${path}`, { headers })).status).toBe(404);
      expect((await ask(nodes[1]?.url ?? '', account, { previous_response_id: previous })).status).toBe(400);
    },
    PATIENCE_MS,
  );

  test(
    'what both add to one conversation at once is in it once, each addition in one piece, and each response between them too',
    async () => {
      const account = await operator.account('10');
      backend.script(() => completion('ok', usage(3, 3)));
      const send = async (path: string, body: object, node = 0): Promise<Response> =>
        await fetch(`${nodes[node]?.url}/v1/${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${account.token}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
      const { id } = (await (await send('conversations', {})).json()) as { id: string };
      const three = (number: number): object[] =>
        ['a', 'b', 'c'].map((part) => ({ role: 'user', content: `${number}${part}` }));
      const additions = Array.from({ length: 24 }, async (_, number) => {
        const added = await send(`conversations/${id}/items`, { items: three(number) }, number % 2);
        expect(added.status).toBe(200);
      });
      const answers = Array.from({ length: 6 }, async (_, number) => {
        const body = { model: 'svc_chat/m', input: `said ${number}`, conversation: id };
        const { status } = await send('responses', body, number % 2);
        return status === 200 ? [`said ${number}`] : [];
      });
      await Promise.all(additions);
      const said = (await Promise.all(answers)).flat();
      const listed = await fetch(`${nodes[1]?.url}/v1/conversations/${id}/items?order=asc&limit=100`, {
        headers: { authorization: `Bearer ${account.token}` },
      });
      const { data } = (await listed.json()) as { data: { id: string; content: { text: string }[] }[] };
      const texts = data.map(({ content }) => content[0]?.text ?? '');
      expect(new Set(data.map((item) => item.id)).size).toBe(24 * 3 + said.length * 2);
      for (let number = 0; number < 24; number++) {
        const start = texts.indexOf(`${number}a`);
        expect(texts.slice(start, start + 3)).toEqual([`${number}a`, `${number}b`, `${number}c`]);
      }
      for (const text of said) expect(texts[texts.indexOf(text) + 1]).toBe('ok');
      expect(texts.filter((text) => text.startsWith('said')).toSorted()).toEqual(said.toSorted());
    },
    PATIENCE_MS,
  );
});

describe.each(['SQLite', 'Postgres'])('on %s', (store) => {
  const backend = new ScriptedBackend();
  let node: NodeProcess;
  let operator: Operator;

  beforeAll(async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    node = await NodeProcess.start({
      yaml: catalogFor([backend.baseUrl]),
      env: { TOLLGATE_LEASE_SECONDS: '4', TOLLGATE_ACCESS_LOG: 'json' },
      ...(databaseUrl !== undefined && { databaseUrl }),
    });
    operator = await Operator.open(node.env);
  }, PATIENCE_MS);
  afterAll(async () => {
    await operator.settled();
    expect((await operator.verify()).breaches).toEqual([]);
    await operator.close();
    await node.stop();
    await backend.stop();
  });

  /** The last event that a client got, or `undefined` if its stream broke before. */
  async function finalOf(response: Response): Promise<SeenResponse | undefined> {
    let text = '';
    try {
      for await (const bytes of response.body ?? []) text += Buffer.from(bytes as Uint8Array).toString();
    } catch {
      // Its server was killed.
    }
    const event = /^data: (\{"type":"response\.completed".*\})$/m.exec(text)?.[1];
    return event === undefined ? undefined : (JSON.parse(event) as { response: SeenResponse }).response;
  }

  test(
    'kill -9 while many answers end: each that a client has seen whole is there, and can be continued',
    async () => {
      const account = await operator.account('100');
      const gate = Promise.withResolvers<void>();
      backend.script(() =>
        eventStream(
          new ReadableStream<Uint8Array>({
            async start(controller) {
              const send = (text: string): void => controller.enqueue(Buffer.from(text));
              send(chunk({ role: 'assistant', content: 'So ' }));
              await gate.promise;
              for (let word = 0; word < 5; word++) {
                send(chunk({ content: 'on ' }));
                await Bun.sleep(Math.random() * 10);
              }
              send(chunk({}, 'stop') + DONE);
              controller.close();
            },
          }),
        ),
      );
      const before = backend.calls.length;
      const asked = await Promise.all(
        Array.from({ length: 40 }, () => ask(node.url, account, { stream: true, input: MARK })),
      );
      await backend.called(before + 40);
      const ends = asked.map((response) => finalOf(response));
      gate.resolve();
      await Promise.any(ends.map(async (end) => (await end) ?? Promise.reject(new Error('it broke'))));
      await node.kill();
      const seen = (await Promise.all(ends)).filter((end) => end !== undefined);
      expect(seen.length).toBeGreaterThan(0);
      await node.restart();
      backend.script(() => completion('ok', usage(3, 3)));
      for (const { id, output } of seen) {
        const stored = await fetch(`${node.url}/v1/responses/${id}`, {
          headers: { authorization: `Bearer ${account.token}` },
        });
        expect(await stored.json()).toMatchObject({ id, output });
        expect((await ask(node.url, account, { previous_response_id: id })).status).toBe(200);
      }
    },
    PATIENCE_MS,
  );

  test(
    'nothing of what is stored can be read in the tables, the files, a backup or the log',
    async () => {
      const account = await operator.account('10');
      backend.script(() => completion(`You said: ${MARK}`, usage(3, 3)));
      const body = { input: MARK, instructions: MARK, metadata: { note: MARK } };
      const id = await idOf(await ask(node.url, account, body));
      const next = await ask(node.url, account, { previous_response_id: id });
      expect(await next.text()).toContain(MARK);
      expect((await ask(node.url, account, { previous_response_id: MARK })).status).toBe(400);
      expect(node.log).not.toContain(MARK);
      const rows = await operator.services.store.db.selectFrom('stored_response').selectAll().execute();
      expect(rows.length).toBeGreaterThan(1);
      for (const { items, head } of rows)
        expect(`${Buffer.from(items).toString()}${Buffer.from(head).toString()}`).not.toContain('remark');
      if (store === 'Postgres') return;
      const backup = join(node.folder, 'data', 'backup.db');
      expect((await node.cli('backup', backup)).code).toBe(0);
      const files = readdirSync(join(node.folder, 'data'), { recursive: true, withFileTypes: true });
      const read = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
      expect(read).toContain(backup);
      for (const file of read) expect([file, readFileSync(file).includes(MARK)]).toEqual([file, false]);
    },
    PATIENCE_MS,
  );
});
