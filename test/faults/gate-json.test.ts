import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { AttackedServer, BROWSER, firstCustomer, headOf, type Client } from '../support/attacked-server.ts';
import { eventually } from '../support/node-process.ts';

/** The largest bodies of the console are bounded like those of the API: in what they keep busy, and in what they take. */

const MEGABYTE = 1_048_576;
const MOST_BYTES = 20 * MEGABYTE;
const QUOTE = '/api/console/playground/quote';
const MILLION_KEYS = encoded(
  `{${Array.from({ length: 1_000_000 }, (_, index) => `"number ${index}":1`).join()}}`,
);
const MILLIONS_OF_BRACKETS = encoded('['.repeat(10_000_000));
const UNFINISHED = 60;
/** The share of one account three times: what is held, what was refused and is not collected yet, and what is on its way. */
const MOST_GROWTH_MEGABYTES = 3 * 60;

function encoded(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

/** A text of nineteen megabytes, which is stored as it is. */
const LONG_CONVERSATION = encoded(
  JSON.stringify({ items: [{ role: 'user', content: 'the best of times '.repeat(MEGABYTE) }] }),
);

/** The store whose writes are made by the thread that serves requests. */
describe('a conversation of many megabytes', () => {
  test('is stored, and nobody waits for it', async () => {
    const server = await AttackedServer.start({});
    try {
      const { token } = await server.operator.account('1');
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const store = (): Promise<Response> =>
        fetch(`${server.node.url}/v1/conversations`, { method: 'POST', headers, body: LONG_CONVERSATION });
      expect((await store()).status).toBe(200);
      const alone = await server.alone();
      const statuses: number[] = [];
      const attacked = await server.duringEach(3, async () => statuses.push((await store()).status));
      expect(statuses).toEqual([200, 200, 200]);
      expect(attacked.victim).toEqual(['200']);
      expect(attacked.longestTurnMs).toBeLessThan(alone.longestTurnMs + attacked.noticeableMs);
    } finally {
      await server.stop();
    }
  }, 60_000);
});

/** No store is asked before a body is refused: one of the two is enough. */
describe('the playground', () => {
  let server: AttackedServer;
  let headers: Record<string, string>;

  beforeAll(async () => {
    server = await AttackedServer.start({});
    headers = { ...BROWSER, cookie: await firstCustomer(server.node) };
  }, 120_000);
  afterAll(async () => {
    await server.stop();
  });

  const post = async (body: Uint8Array<ArrayBuffer>): Promise<string> => {
    const answer = await fetch(`${server.node.url}${QUOTE}`, { method: 'POST', headers, body });
    return `${answer.status} ${await answer.text()}`;
  };

  test.each([
    ['a million keys', MILLION_KEYS, 'more than 10000 keys'],
    ['ten million brackets', MILLIONS_OF_BRACKETS, 'nested deeper'],
  ])(
    '%s in the playground are refused before they are parsed, and nobody waits for it',
    async (_what, body, why) => {
      expect(body.byteLength).toBeLessThanOrEqual(MOST_BYTES);
      const alone = await server.alone();
      const answers: string[] = [];
      const attacked = await server.duringEach(3, async () => answers.push(await post(body)));
      expect(attacked.victim).toEqual(['200']);
      expect(attacked.longestTurnMs).toBeLessThan(alone.longestTurnMs + attacked.noticeableMs);
      for (const answer of answers) {
        expect(answer).toStartWith('400 ');
        expect(answer).toContain(why);
      }
    },
    60_000,
  );

  test('sixty unfinished bodies in the playground take the share of one account', async () => {
    const head = headOf(QUOTE, headers, MOST_BYTES);
    const begun = Buffer.alloc(MOST_BYTES - 1, ' ');
    const alone = await server.alone();
    let clients: Client[] = [];
    // Whoever goes on sending after the refusal may lose the answer with the connection.
    const isHeld = ({ answer, socket }: Client): boolean => answer === '' && !socket.destroyed;
    const attacked = await server.during(async () => {
      clients = Array.from({ length: UNFINISHED }, () => server.send(head, begun));
      await eventually('all but three are refused', () => clients.filter(isHeld).length <= 3);
    });
    expect(attacked.victim).toEqual(['200']);
    expect(attacked.grownMegabytes).toBeLessThan(alone.grownMegabytes + MOST_GROWTH_MEGABYTES);
    const answers = new Set(
      clients.map(({ answer }) => answer.split('\r\n')[0]).filter((line) => line !== ''),
    );
    expect(answers).toEqual(new Set(['HTTP/1.1 503 Service Unavailable']));
    server.leave();
  }, 60_000);
});
