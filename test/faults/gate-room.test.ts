import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { AttackedServer, headOf, type Client } from '../support/attacked-server.ts';
import { eventually } from '../support/node-process.ts';

/** What one request may take is bounded before anything is made of its body, and only what has arrived takes room. */

const MEGABYTE = 1_048_576;
const MOST_BYTES = 20 * MEGABYTE;
const EDITS = '/v1/images/edits';
const CHAT = '/v1/chat/completions';
const PARTS = 300_000;
const BOUNDARY = 'b';
const FORM = formOf(PARTS);
const ANNOUNCERS = 12;

function formOf(parts: number): Uint8Array<ArrayBuffer> {
  const part = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="prompt"\r\n\r\n\r\n`;
  return new TextEncoder().encode(`${part.repeat(parts)}--${BOUNDARY}--\r\n`);
}

/** No store is asked before a body is refused: one of the two is enough. */
describe('the gate', () => {
  let server: AttackedServer;

  beforeAll(async () => {
    server = await AttackedServer.start({});
  }, 120_000);
  afterAll(async () => {
    await server.stop();
  });

  test('a form of 300,000 empty parts is refused before it is read, and nobody waits for it', async () => {
    expect(FORM.byteLength).toBeLessThanOrEqual(MOST_BYTES);
    const { token } = await server.operator.account('1');
    const type = `multipart/form-data; boundary=${BOUNDARY}`;
    const headers = { authorization: `Bearer ${token}`, 'content-type': type };
    const alone = await server.alone();
    const answers: string[] = [];
    const attacked = await server.duringEach(3, async () => {
      const answer = await fetch(`${server.node.url}${EDITS}`, { method: 'POST', headers, body: FORM });
      answers.push(`${answer.status} ${await answer.text()}`);
    });
    expect(attacked.victim).toEqual(['200']);
    expect(attacked.longestTurnMs).toBeLessThan(alone.longestTurnMs + attacked.noticeableMs);
    for (const answer of answers) {
      expect(answer).toStartWith('400 ');
      expect(answer).toContain('more than 64 fields');
    }
  }, 120_000);

  test('bodies that accounts without money only announce leave the room to others', async () => {
    const accounts = await Promise.all(
      Array.from({ length: ANNOUNCERS }, () => server.operator.account('0')),
    );
    const clients: Client[] = accounts.map(({ token }) =>
      server.send(
        headOf(CHAT, { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, MOST_BYTES),
      ),
    );
    const sent = (): boolean => clients.every(({ socket }) => socket.bytesWritten > 0);
    await eventually('all of them have announced theirs', sent);
    expect(await server.node.probe('/healthz')).toBe(200);
    const large = { messages: [{ role: 'user', content: 'word '.repeat(MEGABYTE) }] };
    const attacked = await server.during(async () => {
      for (let turn = 0; turn < 3; turn++) expect(await server.victimAnswer(large)).toBe('200');
    });
    expect(attacked.victim).toEqual(['200']);
    expect(clients.map(({ answer }) => answer)).toEqual(clients.map(() => ''));
    server.leave();
  }, 60_000);
});
