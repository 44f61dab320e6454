import { BOTH, NEVER, OPENAI_DIALECTS, type BillClass } from './classes.ts';
import { CHAT_DIALECTS } from './plan.ts';

/** Everything that has a price of its own, read to the end. */
export const PRICED: readonly BillClass[] = [
  {
    name: 'input written to a cache for five minutes',
    verdict: 'exact',
    dialects: ['messages'],
    forms: BOTH,
    stages: NEVER,
    needs: ['R7'],
    make: (random) => ({
      model: 'claude',
      ask: { cacheFor: '5m' },
      answer: { cachedPercent: random.integer(0, 50), writtenPercent: random.integer(1, 50) },
    }),
  },
  {
    name: 'input written to a cache for an hour',
    verdict: 'exact',
    dialects: ['messages'],
    forms: BOTH,
    stages: NEVER,
    needs: ['R7'],
    make: (random) => ({
      model: 'claude',
      ask: { cacheFor: '1h' },
      answer: { cachedPercent: random.integer(0, 50), writtenPercent: random.integer(1, 50) },
    }),
  },
  {
    name: 'reasoning with a price of its own',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    needs: ['R7'],
    make: (random) => ({ model: 'reasoner', answer: { hiddenTokens: random.integer(1, 5_000) } }),
  },
  {
    name: 'dearer above a context length',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    needs: ['R7'],
    make: (random) => ({ model: 'tiered', ask: { prompt: random.prose(random.integer(200, 1_500)) } }),
  },
  {
    name: 'price of the request itself',
    verdict: 'exact',
    dialects: CHAT_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    needs: ['R7'],
    make: () => ({ model: 'by-request' }),
  },
  {
    name: 'service tiers',
    verdict: 'exact',
    dialects: OPENAI_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    needs: ['R7', 'R6'],
    make: (random) => {
      const tier = random.pick(['priority', 'flex']);
      return {
        model: 'hasty',
        ask: { more: { service_tier: tier } },
        // A provider may answer in its ordinary tier instead, and says so.
        answer: { serviceTier: random.pick([tier, 'default']) },
      };
    },
  },
  {
    name: 'web searches',
    verdict: 'exact',
    dialects: ['messages'],
    forms: BOTH,
    stages: NEVER,
    needs: ['R7', 'R6'],
    make: (random) => ({
      model: 'claude-searcher',
      ask: { more: { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 5 }] } },
      answer: { searches: random.integer(0, 5) },
    }),
  },
  {
    name: 'audio heard and spoken',
    verdict: 'exact',
    dialects: OPENAI_DIALECTS,
    forms: BOTH,
    stages: NEVER,
    needs: ['R7', 'R5'],
    make: (random) => ({
      model: 'sound',
      ask: { attachments: [{ kind: 'audio', tokens: random.integer(10, 100), data: TEN_SECONDS }] },
      answer: { kind: 'transcript', audioTokens: random.integer(1, 500) },
    }),
  },
  {
    name: 'images by size and quality',
    verdict: 'exact',
    dialects: ['public images', 'v1 images'],
    forms: ['whole'],
    stages: ['never', 'before headers'],
    needs: ['R7', 'R6'],
    make: (random) => ({
      model: 'fine-painter',
      ask: {
        images: {
          count: random.integer(1, 4),
          size: random.pick(['1024x1024', '1536x1024']),
          quality: random.pick(['low', 'medium', 'high']),
        },
      },
    }),
  },
];

/** Sound of ten seconds, in 16 bits at 24 kHz. */
const TEN_SECONDS = Buffer.alloc(480_000).toString('base64');
