import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  accountRow,
  addAccount,
  chatAdmission,
  requestRow,
  used,
  WIDE,
  type TestAccount,
} from '../../src/ledger/testing/contract-harness.ts';
import type { AdmissionRequest } from '../../src/ledger/port.ts';
import { openPostgresLedger, type PostgresLedger } from '../../src/ledger/postgres/ledger.ts';
import { systemClock } from '../../src/std/clock.ts';
import { Fault } from '../../src/std/fault.ts';
import type { AccountId, RequestId, TokenHash } from '../../src/std/ids.ts';
import { silentLog } from '../../src/std/log.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { postgresBackend, postgresHarness, type PostgresHarness } from '../support/postgres-ledger.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { startReplyCutter } from '../support/reply-cutter.ts';
import { LEDGER_SQL } from '../../src/ledger/postgres/functions.ts';

const PATIENCE_MS = 120_000;
const TICK_MS = 10;
/** Whoever is told within a second is told long before its end, also on a machine that pauses. */
const OUTAGE_MS = 3_000;
/** Back by itself, and not by one of the long time-outs. */
const SOON_MS = 10_000;
/** A fast machine would otherwise reach the limit of concurrent requests. */
const MOST_ADMITTED = WIDE.concurrent / 2;

describe('a connection that breaks', () => {
  let harness: PostgresHarness;
  beforeAll(async () => {
    harness = await postgresHarness();
  }, PATIENCE_MS);
  afterAll(() => harness.close(), PATIENCE_MS);

  test(
    'B9: a lost reply to an admission is looked up by id: it was admitted, once, and says so',
    async () => {
      const { node, cutter, close } = await nodeBehindCutter(harness, OWN_DEADLINES);
      const account = await addAccount(harness, 100 * 2_100);
      const admitted = new Set<string>();
      for (let round = 0; round < 20; round++) {
        // So that there is a connection, and the next reply is the admission's.
        await node.identify({ kind: 'token', hash: account.hash });
        const lost = cutter.loseNextReply();
        const requests = [chatAdmission(account), chatAdmission(account)];
        const answers = await Promise.all(requests.map((request) => outcomeOf(node.admit(request))));
        await lost;
        for (const [index, request] of requests.entries()) {
          if (answers[index] === 'admitted') admitted.add(request.requestId);
          else expect(answers[index]).toBe('service_unavailable');
        }
      }
      await untilTrue(async () => (await pendingIds(harness.store, account)).length === admitted.size);
      expect(new Set(await pendingIds(harness.store, account))).toEqual(admitted);
      expect(await accountRow(harness, account)).toMatchObject({
        open_holds: admitted.size,
        held: admitted.size * 2_100,
      });
      // On a busy machine a lookup may be late, but not usually.
      expect(admitted.size).toBeGreaterThan(20);
      expect((await harness.ledger().verify()).breaches).toEqual([]);
      await close();
    },
    PATIENCE_MS,
  );

  test(
    'B9: an admission that can be neither confirmed nor looked up fails, and its hold is voided when it is found',
    async () => {
      const { node, cutter, close } = await nodeBehindCutter(harness, OWN_DEADLINES);
      const account = await addAccount(harness, 10 * 2_100);
      await untilAdmitted(node, account);
      const lost = cutter.loseNextReply();
      const request = chatAdmission(account);
      const answer = outcomeOf(node.admit(request));
      await lost;
      cutter.setClosed(true);
      expect(await answer).toBe('service_unavailable');
      expect(await requestRow(harness, request.requestId)).toMatchObject({ state: 'pending' });
      cutter.setClosed(false);
      await untilTrue(async () => (await requestRow(harness, request.requestId)).state !== 'pending');
      expect(await requestRow(harness, request.requestId)).toMatchObject({
        state: 'void',
        charged: 0,
        outcome: 'shed',
      });
      expect(await accountRow(harness, account)).toMatchObject({ open_holds: 1, held: 2_100 });
      await close();
    },
    PATIENCE_MS,
  );

  test(
    'a database that falls silent is given up in time, and the answer agrees with the books',
    async () => {
      const { node, cutter, close } = await nodeBehindCutter(harness, OWN_DEADLINES);
      const account = await addAccount(harness, 10 * 2_100);
      await untilAdmitted(node, account);
      const lost = cutter.loseNextReply('silent');
      const request = chatAdmission(account);
      const answer = await outcomeOf(node.admit(request));
      await lost;
      const due = answer === 'admitted' ? 'pending' : 'void';
      await untilTrue(async () => (await requestRow(harness, request.requestId)).state === due);
      await untilAdmitted(node, account);
      await close();
    },
    PATIENCE_MS,
  );

  test(
    'a lost reply to a settlement or a credit charges and credits once',
    async () => {
      const { node, cutter, close } = await nodeBehindCutter(harness);
      const account = await addAccount(harness, 2_100);
      const request = chatAdmission(account);
      await node.admit(request);
      await node.identify({ kind: 'token', hash: account.hash });
      const lostSettlement = cutter.loseNextReply();
      expect(await outcomeOf(node.settle(request.requestId, used({ output: 50 })))).toBe(
        'service_unavailable',
      );
      await lostSettlement;
      expect(await node.settle(request.requestId, used({ output: 50 }))).toMatchObject({
        state: 'posted',
        charged: 100,
      });
      const credit = { accountId: account.id, kind: 'credit', amount: 7, cause: 'x', actor: 'x' } as const;
      await node.post(credit);
      const lostCredit = cutter.loseNextReply();
      const { balance } = await node.post(credit);
      await lostCredit;
      expect(Number(balance)).toBe(2_014);
      expect((await harness.ledger().verify()).breaches).toEqual([]);
      await close();
    },
    PATIENCE_MS,
  );

  test(
    'B9: backends killed under load leave no double hold and no hold that nobody knows of',
    async () => {
      const nodes = ['a', 'b', 'c'].map((name) => harness.anotherNode(name));
      const account = await addAccount(harness, 900_000_000_000);
      const admitted = new Set<RequestId>();
      let [running, tried, failed] = [true, 0, 0];
      const work = async (node: PostgresLedger): Promise<void> => {
        while (running && admitted.size < MOST_ADMITTED) {
          const request = chatAdmission(account);
          tried++;
          const outcome = await outcomeOf(node.admit(request));
          if (outcome === 'admitted') admitted.add(request.requestId);
          else failed++;
          expect(['admitted', 'service_unavailable']).toContain(outcome);
        }
      };
      const workers = Promise.all(nodes.flatMap((node) => Array.from({ length: 20 }, () => work(node))));
      let killed = 0;
      for (let round = 0; round < 40; round++) {
        const { rowCount } = await harness.backend.pool.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'tollgate ledger%' AND state = 'active'
            AND datname = current_database()`,
        );
        killed += rowCount ?? 0;
        await Bun.sleep(20);
      }
      running = false;
      await workers;
      await untilTrue(async () => (await pendingIds(harness.store, account)).length === admitted.size);
      expect(new Set(await pendingIds(harness.store, account))).toEqual(new Set<string>(admitted));
      expect(await accountRow(harness, account)).toMatchObject({
        open_holds: admitted.size,
        held: admitted.size * 2_100,
      });
      expect((await harness.ledger().verify()).breaches).toEqual([]);
      // An admission whose answer was lost may have been found again.
      expect(killed).toBeGreaterThan(0);
      expect(failed).toBe(tried - admitted.size);
      await Promise.all(nodes.map((node) => node.close()));
    },
    PATIENCE_MS,
  );

  test(
    'one request that the database cannot store fails alone; those beside it do not notice',
    async () => {
      const account = await addAccount(harness, 100 * 2_100);
      const requests = Array.from({ length: 40 }, () => chatAdmission(account));
      const twin: AdmissionRequest = {
        ...chatAdmission(account),
        requestId: (requests[3] as AdmissionRequest).requestId,
      };
      const odd = chatAdmission(account, { client: 'a\0b"c\\d\uD800{,}' });
      const outcomes = await Promise.all(
        [...requests, odd, twin].map((one) => outcomeOf(harness.ledger().admit(one))),
      );
      expect(outcomes.filter((outcome) => outcome === 'internal_error').length).toBeGreaterThanOrEqual(1);
      expect(outcomes.slice(0, 3)).toEqual(['admitted', 'admitted', 'admitted']);
      expect(outcomes.filter((outcome) => outcome === 'admitted')).toHaveLength(41);
      const row = await harness.store.db
        .selectFrom('request')
        .select('client')
        .where('id', '=', odd.requestId)
        .executeTakeFirstOrThrow();
      expect(row.client).toBe('a\uFFFDb"c\\d\uFFFD{,}');
      expect((await harness.ledger().verify()).breaches).toEqual([]);
    },
    PATIENCE_MS,
  );
});

describe('a database that goes away', () => {
  let server: TestPostgres;
  let store: Store;
  let nodes: PostgresLedger[];
  let account: TestAccount;

  beforeAll(async () => {
    server = await startPostgres({ fsync: false });
    store = await openStore({
      dataDir: '',
      databaseUrl: await server.freshDatabase(),
      log: silentLog,
      clock: systemClock,
      ledgerSql: LEDGER_SQL,
    });
    nodes = ['a', 'b', 'c'].map((node) =>
      openPostgresLedger(postgresBackend(store), { node, log: silentLog }),
    );
    account = { id: 'acc_outage' as AccountId, hash: 'outage' as TokenHash };
    await store.db
      .insertInto('account')
      .values({ id: account.id, email: 'o@example.com', token_hash: account.hash, created_at: 1 })
      .execute();
    await nodes[0]?.post({
      accountId: account.id,
      kind: 'credit',
      amount: 900_000_000_000,
      cause: 'x',
      actor: 'x',
    });
  }, PATIENCE_MS);
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.close()));
    await store.close();
    await server.stop();
  }, PATIENCE_MS);

  for (const mode of ['fast', 'immediate'] as const) {
    test(
      `B8: stopped (${mode}) under load, it is service_unavailable within a second, recovers by itself, and what it lost is charged`,
      async () => {
        const chargedBefore = await chargesOf(store, account);
        const load = startLoad(nodes, account);
        await untilTrue(() => Promise.resolve(load.closed > 200));
        await server.stopServer(mode);
        const failedBefore = load.failed;
        await Bun.sleep(OUTAGE_MS);
        expect(load.failed).toBeGreaterThan(failedBefore);
        await server.startServer();
        const back = performance.now();
        await load.nextSuccess();
        expect(performance.now() - back).toBeLessThan(SOON_MS);
        await load.stop();
        expect([...load.outcomes].toSorted()).toEqual(['admitted', 'service_unavailable', 'settled']);
        // The delay of this process itself is not the ledger's.
        expect(load.slowestMs - load.latestMs).toBeLessThan(OUTAGE_MS);
        await untilTrue(async () => (await pendingIds(store, account)).length === 0);
        expect((await chargesOf(store, account)) - chargedBefore).toBe(load.closed);
        expect(await nodes[0]?.verify()).toMatchObject({ breaches: [] });
      },
      PATIENCE_MS,
    );
  }

  test(
    'while it is away every question says so, with when to come back',
    async () => {
      await server.stopServer();
      const [node] = nodes;
      if (!node) throw new Error('there are no nodes');
      const request = chatAdmission(account);
      const questions = [
        () => node.admit(request),
        () => node.settle(request.requestId, used({ output: 1 })),
        () => node.void(request.requestId, used({})),
        () => node.renew([{ requestId: request.requestId, delivered: used({}).usage }]),
        () => node.expire(),
        () => node.identify({ kind: 'token', hash: account.hash }),
        () => node.post({ accountId: account.id, kind: 'credit', amount: 1, cause: 'x', actor: 'x' }),
        () => node.verify(),
      ];
      for (const question of questions) {
        const thrown = await question().then(
          () => undefined,
          (error: unknown) => error,
        );
        expect(thrown).toBeInstanceOf(Fault);
        expect(thrown).toMatchObject({ code: 'service_unavailable', retryAfterMs: 1_000 });
      }
      await server.startServer();
      await untilTrue(async () => (await outcomeOf(node.admit(chatAdmission(account)))) === 'admitted');
    },
    PATIENCE_MS,
  );
});

/** On a busy machine an answer may be late, but not always. */
async function untilAdmitted(node: PostgresLedger, account: TestAccount): Promise<void> {
  await untilTrue(async () => (await outcomeOf(node.admit(chatAdmission(account)))) === 'admitted');
}

const OWN_DEADLINES = { deadlineFactor: 1 } as const;

/** With a server's own deadlines, or with more patience where nothing is about them. */
async function nodeBehindCutter(
  harness: PostgresHarness,
  deadlines: { readonly deadlineFactor?: number } = {},
) {
  const cutter = await startReplyCutter(Number(new URL(harness.backend.url).port));
  const url = harness.backend.url.replace(/:\d+\//, `:${cutter.port}/`);
  const node = harness.anotherNode('cut', { url, ...deadlines });
  const close = async (): Promise<void> => {
    await node.close();
    await cutter.close();
  };
  return { node, cutter, close };
}

/** Requests from all nodes, each closed again and again until it is. */
function startLoad(nodes: readonly PostgresLedger[], account: TestAccount) {
  let running = true;
  let onSuccess: (() => void) | undefined;
  const load = {
    outcomes: new Set<string>(),
    closed: 0,
    failed: 0,
    slowestMs: 0,
    latestMs: 0,
    nextSuccess: () => new Promise<void>((resolve) => (onSuccess = resolve)),
    async stop() {
      running = false;
      clearInterval(ticking);
      await Promise.all(workers);
    },
  };
  let tick = performance.now();
  const ticking = setInterval(() => {
    load.latestMs = Math.max(load.latestMs, performance.now() - tick - TICK_MS);
    tick = performance.now();
  }, TICK_MS);
  const timed = async (call: Promise<unknown>): Promise<string> => {
    const began = performance.now();
    const outcome = await outcomeOf(call);
    load.slowestMs = Math.max(load.slowestMs, performance.now() - began);
    load.outcomes.add(outcome);
    if (outcome === 'service_unavailable') {
      load.failed++;
      await Bun.sleep(10);
    }
    return outcome;
  };
  const work = async (index: number): Promise<void> => {
    const node = nodes[index % nodes.length];
    while (running && node) {
      const request = chatAdmission(account);
      if ((await timed(node.admit(request))) !== 'admitted') continue;
      onSuccess?.();
      let closed = false;
      while (!closed)
        closed = (await timed(node.settle(request.requestId, used({ output: 1 })))) === 'settled';
      load.closed++;
    }
  };
  const workers = Array.from({ length: 60 }, (_, index) => work(index));
  return load;
}

async function outcomeOf(call: Promise<unknown>): Promise<string> {
  try {
    const answer = (await call) as { kind?: string; reason?: string };
    return answer.reason ?? answer.kind ?? 'settled';
  } catch (error) {
    return error instanceof Fault ? error.code : String(error);
  }
}

async function pendingIds(store: Store, { id }: TestAccount): Promise<string[]> {
  const rows = await store.db
    .selectFrom('request')
    .select('id')
    .where('account_id', '=', id)
    .where('state', '=', 'pending')
    .execute();
  return rows.map((row) => row.id);
}

async function chargesOf(store: Store, { id }: TestAccount): Promise<number> {
  const { charges } = await store.db
    .selectFrom('request')
    .select(({ fn }) => fn.countAll<number>().as('charges'))
    .where('account_id', '=', id)
    .where('state', 'in', ['posted', 'expired'])
    .executeTakeFirstOrThrow();
  return charges;
}

async function untilTrue(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await Bun.sleep(50);
}
