import { afterAll, beforeAll, expect, test } from 'bun:test';
import { catalogFor } from '../support/gateway.ts';
import { startLoad, runLoad } from '../support/load.ts';
import { StalledReaders } from '../support/load-stalled.ts';
import { BackendProcess, eventually, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';

/**
 * Many streams on one process: none fails, each is settled, and memory does not grow. The long forms, with the promised
 * numbers, run with TOLLGATE_LONG=1.
 */

const LONG = process.env['TOLLGATE_LONG'] === '1';
const SECONDS = LONG ? 60 : 5;
const ABORTED = LONG ? 20_000 : 1_500;
const STALLED = LONG ? 500 : 12;
const MOST_STALLED_MEGABYTES = LONG ? 500 : 400;
const MOST_MEGABYTES = 400;

let backend: BackendProcess;
let node: NodeProcess;
let operator: Operator;

beforeAll(async () => {
  backend = await BackendProcess.start();
  node = await NodeProcess.start({ yaml: catalogFor([backend.baseUrl], { prices: 'input: 0, output: 2' }) });
  operator = await Operator.open(node.env);
  // The console's pages are bundled once; that memory is not used by streams.
  await fetch(node.url).then((page) => page.text());
}, 60_000);
afterAll(async () => {
  await operator.close();
  await node.stop();
  await backend.stop();
});

/** The minimum of each half: garbage accumulates between two collections, and what remains after them is in use. */
function lows(samples: readonly number[]): [early: number, late: number] {
  const middle = Math.floor(samples.length / 2);
  return [Math.min(...samples.slice(0, middle)), Math.min(...samples.slice(middle))];
}

const chat = (more: Record<string, unknown>) => ({
  endpoint: 'svc_chat',
  model: 'm',
  messages: [{ role: 'user', content: 'hi' }],
  max_tokens: 1_000,
  stream: true,
  ...more,
});

test('2,000 streams at once: no error, every one settled to the token, memory under 400 MB', async () => {
  const account = await operator.account('1000');
  const body = chat({ script: { chunks: SECONDS, everyMs: 1_000 } });
  const load = startLoad({ urls: [node.url], token: account.token, total: 2_000, concurrent: 2_000, body });
  await eventually('2,000 streams are open', async () => (await operator.money(account)).open === 2_000);
  const memory: number[] = [];
  const watch = setInterval(() => memory.push(node.rssMegabytes()), 250);
  const report = await load.report;
  clearInterval(watch);
  const most = Math.max(...memory);
  const [early, late] = lows(memory);
  console.log(
    `2,000 streams for ${SECONDS} s: at most ${most} MB, at least ${early} → ${late} MB, slowest ${report.slowestMs} ms`,
  );
  // A few seconds are too short to tell growth from a pending collection.
  if (LONG) expect(late).toBeLessThan(early * 1.1 + 10);
  expect({ ...report.statuses, ...report.broken }).toEqual({ 200: 2_000 });
  expect(report.ends).toEqual({ done: 2_000 });
  expect(most).toBeLessThan(MOST_MEGABYTES);
  await operator.settled();
  const rows = await operator.requests(account);
  expect(rows).toHaveLength(2_000);
  expect(rows.filter(({ state, charged }) => state !== 'posted' || charged !== SECONDS * 2_000)).toEqual([]);
}, 170_000);

test(`${ABORTED} clients that come and go: no socket, no hold and no memory stays behind`, async () => {
  const account = await operator.account('1000');
  const body = chat({ script: { chunks: 200, everyMs: 20 } });
  const abort = (total: number) =>
    runLoad({ urls: [node.url], token: account.token, total, concurrent: 100, leaveAfter: 1, body });
  // What the first streams leave allocated is what the process needs to serve them.
  await abort(1_000);
  await quiet();
  const [memory, sockets] = [node.rssMegabytes(), node.openSockets()];
  const report = await abort(ABORTED);
  expect(report.broken).toEqual({});
  expect(report.ends).toEqual({ left: ABORTED });
  await quiet();
  const after = [node.rssMegabytes(), node.openSockets()];
  console.log(`${ABORTED} aborts: ${memory} MB → ${after[0]} MB, ${sockets} → ${after[1]} sockets`);
  // The last clients have left, but their connections end a moment later.
  await eventually('no socket stays behind', () => node.openSockets() <= sockets + 2);
  await eventually('memory is back', () => node.rssMegabytes() <= memory * 1.1 + 10);
  const rows = await operator.requests(account);
  expect(
    rows.filter(
      ({ state, outcome, charged }) => state !== 'posted' || outcome !== 'client_left' || charged <= 0,
    ),
  ).toEqual([]);
}, 170_000);

test(`${STALLED} readers that read nothing of fast streams: memory is bounded and falls back`, async () => {
  const account = await operator.account('1000');
  await quiet();
  const before = node.rssMegabytes();
  // As fast as the fastest models write; or, to finish sooner, as fast as it takes to fill all buffers on the way to
  // the client.
  const flood = { characters: 200, megabytes: 200, everyMs: LONG ? 1_000 : 4 };
  const body = chat({ max_tokens: 100_000, script: { flood } });
  const path = '/api/public/v1/chat/completions';
  const readers = await StalledReaders.start(node.url, STALLED, { token: account.token, path, body });
  await eventually('all of them are served', async () => (await operator.money(account)).open === STALLED);
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, node.rssMegabytes())), 250);
  // If unread output were buffered without limit, the backend could keep sending.
  if (LONG) await Bun.sleep(240_000);
  else await eventually('nothing moves any more', nothingSentFor(500), 60_000);
  clearInterval(watch);
  const { megabytesSent } = await backend.stats();
  // Other clients are served normally meanwhile.
  const others = await operator.account('1');
  const report = await runLoad({
    urls: [node.url],
    token: others.token,
    total: 100,
    concurrent: 10,
    body: chat({ stream: false }),
  });
  expect(report.statuses).toEqual({ 200: 100 });
  readers.leave();
  await quiet();
  console.log(`${STALLED} stalled readers: ${before} MB → at most ${most} MB, ${megabytesSent} MB sent`);
  expect(most - before).toBeLessThan(MOST_STALLED_MEGABYTES);
  await eventually('memory is back', () => node.rssMegabytes() <= before * 1.1 + 50);
  console.log(`${STALLED} stalled readers gone: ${node.rssMegabytes()} MB`);
}, 400_000);

test('20 readers of fast streams at full speed: others are answered in the meantime', async () => {
  const [greedy, modest] = await Promise.all([operator.account('1000'), operator.account('1')]);
  const flood = chat({ max_tokens: 100_000, script: { flood: { characters: 200, megabytes: 10 } } });
  const streams = startLoad({
    urls: [node.url],
    token: greedy.token,
    total: 20,
    concurrent: 20,
    body: flood,
  });
  await eventually('all of them are served', async () => (await operator.money(greedy)).open === 20);
  const others = await runLoad({
    urls: [node.url],
    token: modest.token,
    total: 20,
    concurrent: 1,
    body: chat({ stream: false }),
  });
  // If they had waited behind those streams, each would have waited for the last of them.
  expect((await operator.money(greedy)).open).toBeGreaterThan(0);
  expect(others.statuses).toEqual({ 200: 20 });
  expect((await streams.report).ends).toEqual({ done: 20 });
}, 170_000);

test('afterwards the ledger is consistent', async () => {
  const { code, output } = await node.cli('verify', '--json');
  expect({ code, ...(JSON.parse(output) as object) }).toMatchObject({ code: 0, ok: true });
  for (const token of operator.tokens) expect(node.log).not.toContain(token);
}, 60_000);

/** Whether the backend could send nothing since the last check. */
function nothingSentFor(ms: number): () => Promise<boolean> {
  let sent = 0;
  return async () => {
    const before = sent;
    sent = (await backend.stats()).megabytesSent;
    await Bun.sleep(ms);
    return sent > 0 && sent === before;
  };
}

/** Every hold is closed, every backend connection released. */
async function quiet(): Promise<void> {
  await operator.settled();
  await eventually('the backend is left alone', async () => (await backend.stats()).running === 0);
  await eventually('clients are gone', () => node.openSockets() < 50);
}
