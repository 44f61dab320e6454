import { beforeAll, describe, expect, test } from 'bun:test';
import { testPostgres } from '../support/postgres.ts';
import { DIMENSIONS } from './classes-dimensions.ts';
import { planOf } from './classes.ts';
import { REASONING_NAMES } from './openai-wire.ts';
import type { Answer, Ask, Plan } from './plan.ts';
import { Random } from './random.ts';
import { runPlans, type BilledRequest, type BillRun } from './run-plans.ts';

/** What a client sees of a stream that it leaves in the middle has another price than text, or a report tells it last. */
interface LeftStream {
  readonly title: string;
  readonly className: string;
  readonly dialect: 'public' | 'messages';
  readonly ask?: Partial<Ask>;
  readonly answer?: Partial<Answer>;
}

const inTier = (tier: string): LeftStream => ({
  title: `service_tier: ${tier}`,
  className: 'service_tiers',
  dialect: 'public',
  ask: { more: { service_tier: tier } },
  answer: { serviceTier: tier },
});

const STREAMS: readonly LeftStream[] = [
  { title: 'spoken audio', className: 'audio_output', dialect: 'public' },
  { title: 'a picture in a chat', className: 'image_output', dialect: 'public', answer: { pictures: 1 } },
  { title: 'four web searches of Claude', className: 'tool_calls.web_search, Claude', dialect: 'messages' },
  ...REASONING_NAMES.map((name) => ({
    title: `reasoning that can be read as ${name}, with a price of its own`,
    className: 'reasoning',
    dialect: 'public' as const,
    answer: { reasoning: { name, text: new Random(7).prose(300) } },
  })),
  {
    title: 'thinking of Claude with a price of its own',
    className: 'reasoning, Claude',
    dialect: 'messages',
  },
  inTier('priority'),
  inTier('flex'),
  {
    title: 'a tier that Claude tells in its first event, in another dialect',
    className: 'service_tiers, Claude',
    dialect: 'public',
    answer: { serviceTier: 'priority' },
  },
];

function planFor({ className, dialect, ask, answer }: LeftStream, id: number): Plan {
  const one = DIMENSIONS.find(({ name, verdict }) => verdict === 'left' && name === className);
  if (!one) throw new Error(`no class ${className}`);
  const plan = planOf(one, { dialect, streamed: true, leave: 'in mid text' }, id, new Random(id));
  return { ...plan, ask: { ...plan.ask, ...ask }, answer: { ...plan.answer, ...answer } };
}

describe.each(['SQLite', 'Postgres'])('a stream that is left in the middle, on %s', (store) => {
  let run: BillRun;

  beforeAll(async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    run = await runPlans(STREAMS.map(planFor), databaseUrl);
  }, 120_000);

  test.each(STREAMS.map(({ title }, index) => [title, index] as const))(
    'is charged its invoice: %s',
    (_, index) => {
      const covered = coveredPercent(run.requests[index]);
      expect(covered).toBeGreaterThanOrEqual(95);
      expect(covered).toBeLessThanOrEqual(105);
    },
  );

  test('leaves true books', () => {
    expect(run.breaches).toEqual([]);
    expect(run.openHolds).toBe(0);
    expect(run.refusals).toEqual([]);
  });
});

/** The backend learns a moment after the gateway that nobody listens: a few tokens are on one bill alone. */
function coveredPercent(request: BilledRequest | undefined): number {
  if (!request?.receipt || request.invoiced === 0n) return 0;
  return Math.round(Number((request.receipt.charged * 10_000n) / request.invoiced) / 100);
}
