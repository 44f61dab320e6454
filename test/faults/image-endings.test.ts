import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { sql } from 'kysely';
import { IMAGE_BACKENDS, type ImageBackend } from '../matrix/image-cases.ts';
import type { ImageCallReceived, ImageStandIn } from '../providers/image-stand-in.ts';
import type { TestAccount } from '../support/gateway.ts';
import { ASYNC } from '../support/image-jobs.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';

/**
 * Every kind of backend, with requests that are split over several calls and with those that are not, and every way in which
 * a request ends before its time: what was delivered is charged, and what the provider's own invoice has is in the books, as
 * a cost or as a possible one.
 */

const PRICE = 10_000_000;
const COST = 4_000_000;
const PATIENCE_MS = 170_000;

type Way = 'plain' | 'async' | 'streamed';
interface Case {
  readonly backend: ImageBackend;
  readonly isSplit: boolean;
  readonly way: Way;
  readonly end: End;
}

const ENDS = {
  'answers are lost': ['plain', 'async'],
  'one image is refused, and answers are lost': ['plain', 'async'],
  'one image cannot be decoded': ['plain', 'async'],
  'the client leaves': ['plain'],
  'the storage is down': ['plain', 'async'],
  'the storage is down, and the client leaves with its images': ['streamed'],
  'the process is killed': ['plain', 'async', 'streamed'],
  'the process is killed, and the price changes': ['async'],
  'the process is killed, and its model is gone': ['async'],
  'the process is stopped': ['plain', 'async'],
} as const satisfies Record<string, readonly Way[]>;
type End = keyof typeof ENDS;

const CASES: readonly Case[] = IMAGE_BACKENDS.flatMap((backend) =>
  [true, false].flatMap((isSplit) =>
    Object.entries(ENDS).flatMap(([end, ways]) =>
      ways.map((way) => ({ backend, isSplit, way, end: end as End })),
    ),
  ),
);

/** More than any of these makes in one call, where it can be asked for so many at all. */
const MANY: Readonly<Record<string, number>> = { fal: 6, imagen: 6, replicate: 6 };

function countOf({ backend, isSplit }: Case): number {
  return isSplit ? (MANY[backend.name] ?? 4) : 1;
}

/** A case with its own provider, endpoint and account. */
class RunningCase {
  readonly one: Case;
  readonly name: string;
  readonly standIn: ImageStandIn;
  /** Until it is opened, answers that are on their way do not arrive. */
  readonly gate = Promise.withResolvers<void>();
  readonly client = new AbortController();
  account: TestAccount | undefined;
  #submitted = 0;
  #answered = 0;

  constructor(one: Case, index: number) {
    this.one = one;
    this.name = `c${index}`;
    this.standIn = one.backend.start();
    this.standIn.onAnswer = async (answer, call) => {
      if (!isSubmission(call)) return answer;
      const isFirst = this.#submitted++ === 0;
      return await this.#sent(answer, isFirst);
    };
    if (one.end.startsWith('one image is refused')) this.standIn.outcomes = ['refused'];
    if (one.end === 'one image cannot be decoded') this.standIn.outcomes = ['cut'];
    if (this.#isInterrupted) this.standIn.pollsBeforeDone = Number.MAX_SAFE_INTEGER;
  }

  get #isInterrupted(): boolean {
    return this.one.end.startsWith('the process');
  }

  /** Of several parts the first is answered. */
  async #sent(answer: Response, isFirst: boolean): Promise<Response> {
    const isFollowed = isFirst && this.#parts > 1;
    if (this.one.end.includes('answers are lost')) return isFollowed ? answer : broken();
    if (this.one.end === 'the client leaves' || (this.#isInterrupted && !isFollowed && !this.#isJob))
      await this.gate.promise;
    if (this.#isInterrupted && !isFirst) await this.gate.promise;
    this.#answered++;
    return answer;
  }

  get #isJob(): boolean {
    return this.one.backend.answers === 'job';
  }

  /** The backend has all parts, and those that it has answered are known to be its jobs. */
  get isUnderWay(): boolean {
    if (this.#submitted < this.#parts) return false;
    const asked = [...this.standIn.jobs.values()].filter(({ polls }) => polls > 0).length;
    return !this.#isJob || asked === this.#answered;
  }

  get #parts(): number {
    if (!this.one.isSplit) return 1;
    const { name } = this.one.backend;
    return name === 'bfl' || name === 'gemini' || name === 'stability' ? 4 : MANY[name] === undefined ? 1 : 2;
  }

  /** What another process can fetch: the first part, which is known as a job. */
  get adoptable(): number | undefined {
    const { way, end, isSplit, backend } = this.one;
    const isCancelled = way === 'plain' && end === 'the process is stopped';
    if (!this.#isJob || !this.#isInterrupted || isCancelled) return undefined;
    return isSplit && backend.name !== 'bfl' ? 4 : 1;
  }

  /** What the provider bills: it comes to the end of what it was asked for, whoever waits for it. */
  get invoiced(): number {
    const jobs = [...this.standIn.jobs.values()].flatMap(({ outcomes }) => outcomes);
    if (this.#isJob) return jobs.filter((outcome) => outcome === 'made' || outcome === 'cut').length;
    return this.standIn.invoice.reduce((sum, bill) => sum + (bill.kind === 'images' ? bill.images : 0), 0);
  }

  finishAtBackend(): void {
    this.gate.resolve();
    for (const job of this.standIn.jobs.values()) job.polls = 0;
    this.standIn.pollsBeforeDone = 1;
  }
}

function isSubmission({ method, path }: ImageCallReceived): boolean {
  return method === 'POST' && !path.endsWith('/cancel');
}

/** An answer that ends before it can be read. */
function broken(): Response {
  return new Response('{"', { headers: { 'content-type': 'application/json' } });
}

/** `isLater`: as it is published while requests are at their backends. */
function catalogFor(cases: readonly RunningCase[], isLater: boolean): string {
  const price = ({ one }: RunningCase): string =>
    isLater && one.end.endsWith('the price changes')
      ? 'input: 1, output: 2, image_output: 2, max_output: 1000'
      : `image: 0.01, cost: { U: { image: 0.004 } }`;
  const modelOf = ({ one }: RunningCase): string =>
    isLater && one.end.endsWith('its model is gone') ? 'another' : 'painter';
  return [
    'upstreams:',
    ...cases.map(
      ({ name, standIn, one }) =>
        `  ${name}: { ${one.backend.entry}, base_url: "${standIn.baseUrl}", api_key: "\${KEY}" }`,
    ),
    'lists:',
    ...cases.map((running) => {
      const { name, one } = running;
      const entry = `upstream_models: { ${name}: "${one.backend.model}" }${one.backend.modelEntry ?? ''}`;
      return `  ${name}: [{ model: ${modelOf(running)}, ${price(running).replace('U', name)}, sizes: [1024x1024], ${entry} }]`;
    }),
    'endpoints:',
    ...cases.map(
      ({ name }) =>
        `  ${name}: { name: ${name}, type: image_generation, lists: [${name}], upstreams: [${name}] }`,
    ),
  ].join('\n');
}

describe.each(['SQLite', 'Postgres'])('on %s', (store) => {
  const cases = CASES.map((one, index) => new RunningCase(one, index));
  let node: NodeProcess;
  let operator: Operator;

  beforeAll(async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    const key = cases[0]?.standIn.key ?? '';
    node = await NodeProcess.start({
      yaml: catalogFor(cases, false),
      env: { TOLLGATE_LEASE_SECONDS: '4', TOLLGATE_GRACE_SECONDS: '1', KEY: key },
      ...(databaseUrl !== undefined && { databaseUrl }),
    });
    operator = await Operator.open(node.env);
    for (const one of cases) one.account = await operator.account('1');
  }, PATIENCE_MS);
  afterAll(async () => {
    await operator.close();
    await node.stop();
    for (const { standIn } of cases) await standIn.stop();
  });

  const casesOf = (...ends: End[]): RunningCase[] => cases.filter(({ one }) => ends.includes(one.end));

  async function ask({ one, name, account, client }: RunningCase): Promise<string> {
    const headers = one.way === 'async' ? ASYNC : {};
    const format = one.way === 'streamed' ? { stream: true, response_format: 'b64_json' } : {};
    const response = await fetch(`${node.url}/api/public/v1/images/generations`, {
      method: 'POST',
      headers: {
        ...headers,
        authorization: `Bearer ${account?.token}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        endpoint: name,
        model: 'painter',
        prompt: 'a gate',
        n: countOf(one),
        ...format,
      }),
      keepalive: false,
      signal: client.signal,
    });
    return one.way === 'streamed' ? await untilImages(response, countOf(one)) : await response.text();
  }

  /** The client leaves as soon as it has all of them. */
  async function untilImages(response: Response, count: number): Promise<string> {
    let text = '';
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      if (text.split('"usage":').length > count) break;
    }
    return text;
  }

  const askAll = (running: readonly RunningCase[]): Promise<string>[] =>
    running.map((one) => ask(one).catch(() => 'the connection broke'));

  async function underWay(running: readonly RunningCase[]): Promise<void> {
    for (const one of running)
      await eventually(`${describeCase(one)} is under way`, () => one.isUnderWay, PATIENCE_MS);
  }

  interface Books {
    readonly charged: number;
    readonly cost: number;
    readonly possible: number;
    /** Images in the gallery. */
    readonly kept: number;
  }

  async function booksOf({ account }: RunningCase): Promise<Books> {
    const { db } = operator.services.store;
    const id = account?.id ?? '';
    const receipts = db.selectFrom('receipt').select(['charged', 'cost', 'possible_cost']);
    const rows = await receipts.where('account_id', '=', id).execute();
    const kept = await db.selectFrom('image').select('id').where('account_id', '=', id).execute();
    const sum = { charged: 0, cost: 0, possible: 0 };
    for (const row of rows) {
      sum.charged += row.charged / PRICE;
      sum.cost += (row.cost ?? 0) / COST;
      sum.possible += row.possible_cost / COST;
    }
    return { ...sum, kept: kept.length };
  }

  /** What is wrong in the books of these cases, all counted in images. */
  async function wrongBooks(running: readonly RunningCase[]): Promise<string[]> {
    await operator.settled(PATIENCE_MS);
    const wrong: string[] = [];
    for (const one of running) {
      const { charged, cost, possible, kept } = await booksOf(one);
      const { invoiced } = one;
      const delivered =
        one.one.way === 'streamed' && !one.one.end.startsWith('the process') ? countOf(one.one) : kept;
      const isExact = charged === (one.adoptable ?? delivered) && cost <= invoiced && charged <= cost;
      const isCovered = cost + possible >= invoiced && cost + possible <= countOf(one.one);
      const isBegun = invoiced > 0 || one.one.end.startsWith('one image is refused');
      if (!isExact || !isCovered || !isBegun || charged !== delivered)
        wrong.push(
          `${describeCase(one)}: delivered ${delivered}, charged ${charged}, cost ${cost}, possible ${possible}, invoiced ${invoiced}`,
        );
    }
    expect((await node.cli('verify', '--json')).code).toBe(0);
    return wrong;
  }

  /** Inserts of images fail, or those of a second one for a request. */
  const withoutStorage = async (
    work: () => Promise<unknown>,
    from: 'first' | 'second' = 'first',
  ): Promise<void> => {
    const { db } = operator.services.store;
    const isFull = sql.raw(
      from === 'first' ? 'true' : 'EXISTS (SELECT 1 FROM image i WHERE i.request_id = NEW.request_id)',
    );
    if (store === 'SQLite') {
      await sql`CREATE TRIGGER no_image BEFORE INSERT ON image WHEN ${isFull} BEGIN SELECT raise(ABORT, 'full'); END`.execute(
        db,
      );
    } else {
      await sql`CREATE OR REPLACE FUNCTION full_storage() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF ${isFull} THEN RAISE EXCEPTION 'full'; END IF; RETURN NEW; END $$`.execute(db);
      await sql`CREATE TRIGGER no_image BEFORE INSERT ON image FOR EACH ROW EXECUTE FUNCTION full_storage()`.execute(
        db,
      );
    }
    try {
      await work();
    } finally {
      await sql`DROP TRIGGER no_image ${sql.raw(store === 'SQLite' ? '' : 'ON image')}`.execute(db);
    }
  };

  test(
    'images that do not arrive, of whole requests or of parts, are possible costs, unless they were refused',
    async () => {
      const running = casesOf(
        'answers are lost',
        'one image is refused, and answers are lost',
        'one image cannot be decoded',
      );
      await Promise.all(askAll(running));
      expect(await wrongBooks(running)).toEqual([]);
    },
    PATIENCE_MS,
  );

  test(
    'a client that leaves before its answer pays for what is in its gallery then',
    async () => {
      const running = casesOf('the client leaves');
      const asked = askAll(running);
      await underWay(running);
      for (const one of running) {
        one.client.abort();
        one.gate.resolve();
      }
      await Promise.all(asked);
      expect(await wrongBooks(running)).toEqual([]);
    },
    PATIENCE_MS,
  );

  test(
    'images that cannot be stored cost nothing, unless their client has them',
    async () => {
      const left = casesOf('the storage is down, and the client leaves with its images');
      const running = [...casesOf('the storage is down'), ...left];
      await withoutStorage(async () => {
        await Promise.all(askAll(running));
        await operator.settled(PATIENCE_MS);
      });
      expect(await wrongBooks(running)).toEqual([]);
    },
    PATIENCE_MS,
  );

  test(
    'kill -9: the next process delivers what the backend has, whatever the catalog says by then, and books the rest as possible',
    async () => {
      const running = casesOf(
        'the process is killed',
        'the process is killed, and the price changes',
        'the process is killed, and its model is gone',
      );
      const asked = askAll(running);
      await underWay(running);
      await node.kill();
      await Promise.all(asked);
      for (const one of running) one.finishAtBackend();
      writeFileSync(node.env['TOLLGATE_CONFIG'] ?? '', catalogFor(cases, true));
      await node.restart();
      expect(await wrongBooks(running)).toEqual([]);
    },
    PATIENCE_MS,
  );

  test(
    'SIGTERM: what is at a backend goes on in the next process or is a possible cost',
    async () => {
      const running = casesOf('the process is stopped');
      const asked = askAll(running);
      await underWay(running);
      node.signal('SIGTERM');
      expect(await node.exited()).toBe(0);
      await Promise.all(asked);
      for (const one of running) one.finishAtBackend();
      await node.restart();
      expect(await wrongBooks(running)).toEqual([]);
    },
    PATIENCE_MS,
  );

  test(
    'kill -9 while images are being stored: what is not charged is not in the gallery either',
    async () => {
      const account = await operator.account('1');
      const { db } = operator.services.store;
      const stored = db.selectFrom('image').select('id').where('account_id', '=', account.id);
      const one = new RunningCase({ ...CASES[0]!, way: 'plain', end: 'the client leaves' }, 0);
      one.gate.resolve();
      one.account = account;
      try {
        await node.kill();
        writeFileSync(node.env['TOLLGATE_CONFIG'] ?? '', catalogFor([one], false));
        await node.restart();
        await withoutStorage(async () => {
          const asked = ask(one).catch(() => 'the connection broke');
          await eventually('the first image is stored', async () => (await stored.execute()).length === 1);
          await node.kill();
          await asked;
        }, 'second');
        await node.restart();
        await eventually('nothing is stored', async () => (await stored.execute()).length === 0);
        expect(await wrongBooks([one])).toEqual([]);
      } finally {
        await one.standIn.stop();
      }
    },
    PATIENCE_MS,
  );
});

function describeCase({ one }: RunningCase): string {
  return `${one.backend.name} × ${countOf(one)}, ${one.way}: ${one.end}`;
}
