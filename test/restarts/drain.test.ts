import { afterAll, beforeAll, expect, test } from 'bun:test';
import { catalogFor, type TestAccount } from '../support/gateway.ts';
import { Traffic } from '../support/load-traffic.ts';
import { BackendProcess, eventually, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import type { BackendScript } from '../support/raw-backend.ts';

/** SIGTERM: not ready, served for a while, then refused; running requests may finish, nothing is lost, and the process exits with 0. */

const STREAMS = 40;
const WHOLE = 20;
const PATIENCE_MS = 120_000;
/** Each state lasts for seconds; asking without a pause keeps a whole processor busy for as long. */
const LOOK_AGAIN_MS = 20;

let backend: BackendProcess;
let yaml: string;

beforeAll(async () => {
  backend = await BackendProcess.start();
  yaml = catalogFor([backend.baseUrl], { prices: 'input: 0, output: 2' });
});
afterAll(async () => {
  await backend.stop();
});

interface DrainSetup {
  readonly node: NodeProcess;
  readonly operator: Operator;
  readonly account: TestAccount;
  /** One request per client and no more, all of them under way. */
  underWay(script: { whole: BackendScript; stream: BackendScript }): Promise<Traffic>;
}

/** A node of its own for each test; whatever happens to it, its ledger is consistent afterwards. */
function drainTest(
  promise: string,
  { grace, pause = 0 }: { grace: number; pause?: number },
  run: (scene: DrainSetup) => Promise<void>,
): void {
  test.concurrent(
    promise,
    async () => {
      const env = { TOLLGATE_GRACE_SECONDS: String(grace), TOLLGATE_DRAIN_SECONDS: String(pause) };
      const node = await NodeProcess.start({ yaml, env });
      const operator = await Operator.open(node.env);
      const account = await operator.account('10');
      const underWay: DrainSetup['underWay'] = async (script) => {
        const clients = { whole: WHOLE, streams: STREAMS, script };
        const traffic = new Traffic({ url: node.url, token: account.token, ...clients });
        await allAdmitted(operator);
        return traffic;
      };
      await run({ node, operator, account, underWay });
      expect((await operator.verify()).breaches).toEqual([]);
      for (const token of operator.tokens) expect(node.log).not.toContain(token);
      await operator.close();
      await node.stop();
    },
    PATIENCE_MS,
  );
}

/** How requests are answered from now on, each state once, until connections are refused. */
async function statesUntilRefused({ url }: NodeProcess, { token }: TestAccount): Promise<string[]> {
  const states: string[] = [];
  for (;;) {
    try {
      const response = await fetch(`${url}/api/public/v1/account`, {
        headers: { authorization: `Bearer ${token}` },
      });
      await response.arrayBuffer();
      const kept = response.headers.get('connection') === 'close' ? 'closed' : 'kept';
      states.push(`${response.status}, ${kept}`);
    } catch {
      return [...new Set(states)];
    }
    await Bun.sleep(LOOK_AGAIN_MS);
  }
}

async function allAdmitted(operator: Operator): Promise<void> {
  await eventually('all requests are admitted', async () => (await operator.pending()) === WHOLE + STREAMS);
}

drainTest(
  'not ready first; then served for the pause, asked to close, refused; what runs ends whole and charged; exit code 0',
  { grace: 60, pause: 10 },
  async ({ node, operator, account, underWay }) => {
    const traffic = await underWay({ whole: { delayMs: 13_000 }, stream: { chunks: 100, everyMs: 130 } });
    const ended = traffic.stop();
    node.signal('SIGTERM');
    await eventually('the node says that it is not ready', async () => (await node.probe('/readyz')) === 503);
    expect(await node.probe('/healthz')).toBe(200);
    expect(await statesUntilRefused(node, account)).toEqual(['200, kept', '200, closed']);
    expect(await operator.pending()).toBe(WHOLE + STREAMS);
    await ended;
    expect(traffic.ends).toEqual({ answered: WHOLE + STREAMS });
    expect(await node.exited()).toBe(0);
    expect(await operator.pending()).toBe(0);
    const charges = await operator.charges(account);
    expect(Object.fromEntries(charges)).toEqual(
      Object.fromEntries([...traffic.acknowledged].map(([id, charge]) => [id, [charge]])),
    );
  },
);

drainTest(
  'beyond the grace: the rest are told in an error event, charged for what they got, and nothing is held',
  { grace: 1 },
  async ({ node, operator, account }) => {
    const { token } = account;
    const texts = Array.from({ length: STREAMS }, async () => {
      const response = await fetch(`${node.url}/api/public/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify({
          endpoint: 'svc_chat',
          model: 'm',
          messages: [{ role: 'user', content: 'hi' }],
          max_tokens: 1_000,
          stream: true,
          script: { chunks: 1_000, everyMs: 50 },
        }),
      });
      return await response.text();
    });
    const whole = new Traffic({
      url: node.url,
      token,
      whole: WHOLE,
      streams: 0,
      script: { whole: { delayMs: 60_000 } },
    });
    await allAdmitted(operator);
    await Bun.sleep(500);
    const ended = whole.stop();
    node.signal('SIGTERM');
    expect(await node.exited()).toBe(0);
    for (const text of await Promise.all(texts)) {
      const events = text.split('\n\n').filter((event) => event.startsWith('data: '));
      expect(events.at(-1)).toContain('"service_unavailable"');
      expect(events.filter((event) => event.includes('"error"'))).toHaveLength(1);
      expect(text).not.toContain('[DONE]');
    }
    await ended;
    expect(whole.ends).toEqual({ service_unavailable: WHOLE });
    expect(await operator.money(account)).toMatchObject({ held: 0, open: 0 });
    const rows = await operator.requests(account);
    const streams = rows.filter(({ stream }) => stream === 1);
    expect(
      streams.every(
        ({ state, outcome, charged, held }) =>
          state === 'posted' && outcome === 'cut_short' && charged > 0 && charged < held,
      ),
    ).toBe(true);
    expect(rows.filter(({ stream, charged }) => stream === 0 && charged !== 0)).toEqual([]);
  },
);

drainTest(
  'under load no request is lost: each is answered and charged, or refused and free',
  { grace: 30 },
  async ({ node, operator, account }) => {
    const traffic = new Traffic({
      url: node.url,
      token: account.token,
      whole: 60,
      streams: 60,
      script: { stream: { chunks: 5, everyMs: 20 }, whole: { delayMs: 30 } },
    });
    await eventually('answers arrive', () => traffic.acknowledged.size > 200);
    node.signal('SIGTERM');
    expect(await node.exited()).toBe(0);
    const ended = traffic.stop();
    await ended;
    // Once the process is gone connections are refused; what it took on before that it finished.
    const { answered, service_unavailable: _, broken: __, ...others } = traffic.ends;
    expect(others).toEqual({});
    expect(answered).toBe(traffic.acknowledged.size);
    expect(await operator.money(account)).toMatchObject({ held: 0, open: 0 });
    const charges = await operator.charges(account);
    expect(Object.fromEntries(charges)).toEqual(
      Object.fromEntries([...traffic.acknowledged].map(([id, charge]) => [id, [charge]])),
    );
  },
);

drainTest(
  'a second signal is a crash, and the next start recovers from it like from any other',
  { grace: 60 },
  async ({ node, operator, account, underWay }) => {
    const traffic = await underWay({
      whole: { delayMs: 60_000 },
      stream: { chunks: 1_000, everyMs: 50 },
    });
    const ended = traffic.stop();
    node.signal('SIGTERM');
    await eventually('the node refuses connections', async () => (await node.probe('/readyz')) === 0);
    node.signal('SIGTERM');
    expect(await node.exited()).not.toBe(0);
    await ended;
    expect(traffic.ends).toEqual({ broken: WHOLE + STREAMS });
    expect(await operator.pending()).toBe(WHOLE + STREAMS);
    await node.restart();
    expect(await operator.pending()).toBe(0);
    expect(await operator.money(account)).toMatchObject({ held: 0, open: 0 });
  },
);
