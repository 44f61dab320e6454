import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { newToken } from '../../src/identity/accounts/token.ts';
import { AttackedServer, BROWSER, headOf, type Client } from '../support/attacked-server.ts';
import { eventually } from '../support/node-process.ts';
import { testPostgres } from '../support/postgres.ts';

/** The operators' API is one more door for strangers, and for a program that calls without a pause. */

const SOCKETS = 1_000;
/** So many calls a program may make at once, and when it may make another one. */
const AT_ONCE = 600;
const ANOTHER_EACH_MS = 20;
const ACCOUNTS = '/api/operator/v1/accounts';
const PASSWORD = 'a perfectly fine phrase';

/** Its checksum is right, so that the store has to be asked. */
function inventedToken(): string {
  return newToken(crypto.getRandomValues(new Uint8Array(32)), undefined, 'op-').token;
}

describe.each(['SQLite', 'Postgres'])('the operators’ API on %s', (store) => {
  let server: AttackedServer;
  let token: string;
  /** Of the owner's session. */
  let session: string;

  beforeAll(async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    server = await AttackedServer.start(databaseUrl === undefined ? {} : { databaseUrl });
    token = await operatorToken();
  }, 120_000);
  afterAll(async () => {
    await server.stop();
  });

  async function operatorToken(): Promise<string> {
    const post = (path: string, body: object, cookie = ''): Promise<Response> =>
      fetch(`${server.node.url}${path}`, {
        method: 'POST',
        headers: { ...BROWSER, cookie },
        body: JSON.stringify(body),
      });
    const setupToken = /\/setup\/(\S+)/.exec(server.node.greeting)?.[1];
    const owner = { token: setupToken, email: 'owner@example.com', password: PASSWORD };
    const signedIn = await post('/api/console/setup', owner);
    session = signedIn.headers
      .getSetCookie()
      .map((one) => one.split(';')[0])
      .join('; ');
    const wanted = { name: 'a program', role: 'owner', expiresAt: Date.now() + 86_400_000 };
    const made = await post('/api/console/admin/operator-tokens', wanted, session);
    return ((await made.json()) as { token: string }).token;
  }

  /** What the clients got, once most are answered or dropped: some slow bodies may stay until their time is over. */
  async function answersTo(send: () => Client): Promise<Record<string, number>> {
    const clients = Array.from({ length: SOCKETS }, send);
    const isOver = ({ answer, socket }: Client): boolean => answer !== '' || socket.destroyed;
    const areMostOver = (): boolean => clients.filter(isOver).length > 0.7 * SOCKETS;
    await eventually('most of them are answered or dropped', areMostOver, 60_000);
    const lines = clients.map(({ answer }) => answer.split('\r\n')[0] ?? '');
    server.leave();
    return Object.fromEntries(
      [...Map.groupBy(lines, (line) => line)].map(([line, { length }]) => [line, length]),
    );
  }

  test.each<[string, () => string, () => string]>([
    ['strangers that send nothing of a large body', inventedToken, () => ''],
    ['programs that never end theirs', () => token, () => '{"email":'],
  ])(
    'a thousand %s keep nobody waiting',
    async (_, secret, begun) => {
      const alone = await server.alone();
      const authorization = `Bearer ${secret()}`;
      const head = headOf(ACCOUNTS, { authorization, 'content-type': 'application/json' }, 60_000);
      let answers: Record<string, number> = {};
      const attacked = await server.during(async () => {
        answers = await answersTo(() => server.send(head, begun()));
      });
      expect(attacked.victim).toEqual(['200']);
      expect(attacked.longestTurnMs).toBeLessThan(alone.longestTurnMs + attacked.noticeableMs);
      for (const line of Object.keys(answers)) expect(line).toMatch(/^(?:HTTP\/1\.1 4\d\d .*)?$/);
      expect(server.node.log).not.toContain('internal');
    },
    120_000,
  );

  test('a thousand lists that one session asks for at once all come, and another’s comes beside them', async () => {
    const alone = await server.alone();
    const head = ['GET /api/console/requests HTTP/1.1', 'host: gate', `cookie: ${session}`];
    const request = [...head, 'sec-fetch-site: same-origin', 'connection: close', '', ''].join('\r\n');
    let crowd: Client[] = [];
    const attacked = await server.during(async () => {
      crowd = Array.from({ length: SOCKETS }, () => server.send(request));
      const sent = (): boolean => crowd.every(({ socket }) => socket.bytesWritten > 0);
      await eventually('all of them have asked', sent);
      const headers = { authorization: `Bearer ${token}` };
      const other = await fetch(`${server.node.url}/api/operator/v1/overview`, { headers });
      expect(other.status).toBe(200);
      const isOver = (): boolean => crowd.every(({ socket }) => socket.readableEnded || socket.destroyed);
      await eventually('all of them are answered', isOver, 60_000);
    });
    expect(attacked.victim).toEqual(['200']);
    expect(attacked.longestTurnMs).toBeLessThan(alone.longestTurnMs + attacked.noticeableMs);
    expect(new Set(crowd.map(({ answer }) => answer.split('\r\n')[0]))).toEqual(new Set(['HTTP/1.1 200 OK']));
    expect(server.node.log).not.toContain('internal');
    server.leave();
  }, 120_000);

  test('a program that asks for lists a thousand times at once keeps nobody waiting, and is told to wait itself', async () => {
    const alone = await server.alone();
    const paths = ['accounts', 'requests', 'audit', 'overview', 'margin', 'teams', 'payments', 'prices'];
    const statuses: number[] = [];
    const begunAt = performance.now();
    const attacked = await server.during(async () => {
      await Promise.all(
        Array.from({ length: SOCKETS }, async (_one, n) => {
          const headers = { authorization: `Bearer ${token}` };
          const url = `${server.node.url}/api/operator/v1/${paths[n % paths.length]}`;
          const answer = await fetch(url, { headers, keepalive: false });
          await answer.arrayBuffer();
          statuses.push(answer.status);
        }),
      );
    });
    expect(attacked.victim).toEqual(['200']);
    expect(attacked.longestTurnMs).toBeLessThan(alone.longestTurnMs + attacked.noticeableMs);
    expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
    const answered = statuses.filter((status) => status === 200).length;
    expect(answered).toBeLessThanOrEqual(AT_ONCE + (performance.now() - begunAt) / ANOTHER_EACH_MS);
    expect(server.node.log).not.toContain('internal');
  }, 120_000);
});
