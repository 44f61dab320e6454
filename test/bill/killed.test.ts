import { beforeAll, describe, expect, test } from 'bun:test';
import { testPostgres } from '../support/postgres.ts';
import { DIMENSIONS } from './classes-dimensions.ts';
import { planOf, type Variant } from './classes.ts';
import { BilledNodes, type NodesBooks } from './nodes.ts';
import { STREAM_STAGES, WHOLE_STAGES, type Plan } from './plan.ts';
import { Random } from './random.ts';
import { describePlan, type BilledRequest } from './run-plans.ts';

/** A node dies by kill -9 in the middle of streams and whole chats. What the backend bills for them is in the books. */

const CLASSES = [
  'output',
  'output, Claude',
  'reasoning',
  'audio_output',
  'cache_write',
  'tool_calls.web_search, Claude',
];
const VARIANTS: readonly Omit<Variant, 'dialect'>[] = [
  ...STREAM_STAGES.map((leave) => ({ streamed: true, leave })),
  ...WHOLE_STAGES.map((leave) => ({ streamed: false, leave })),
];

function plansFor(random: Random): Plan[] {
  const classes = DIMENSIONS.filter(({ name, verdict }) => verdict === 'exact' && CLASSES.includes(name));
  return classes
    .flatMap((one) => VARIANTS.map((variant) => ({ one, variant })))
    .map(({ one, variant }, id) => {
      const dialect = random.pick(one.ways.dialects);
      return { ...planOf(one, { ...variant, dialect }, id, random), clientStays: true };
    });
}

describe.each(['SQLite', 'Postgres'])('requests whose node was killed, on %s', (store) => {
  let books: NodesBooks;

  beforeAll(async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    const plans = plansFor(new Random(Number(process.env['FAST_CHECK_SEED'])));
    const nodes = await BilledNodes.start(plans, databaseUrl);
    await nodes.round(plans, 0, 'kill -9', () => Promise.resolve());
    books = await nodes.books();
    await nodes.stop();
  }, 120_000);

  test('are each charged, or booked as possible, with no less than their invoice', () => {
    expect(books.requests.length).toBe(CLASSES.length * VARIANTS.length);
    expect(books.requests.filter(isShort).map(told)).toEqual([]);
    expect(books.requests.filter(({ lines }) => lines.length !== 1).map(told)).toEqual([]);
  });

  test('leave true books', () => {
    expect(books.breaches).toEqual([]);
    expect(books.refusals).toEqual([]);
  });
});

function isShort({ receipt, invoiced }: BilledRequest): boolean {
  return !receipt || receipt.charged + receipt.possibleCost < invoiced;
}

function told({ plan, receipt, invoiced }: BilledRequest): string {
  return `${describePlan(plan)}: invoice ${invoiced}, charged ${receipt?.charged}, possible ${receipt?.possibleCost}`;
}
