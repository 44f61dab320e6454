import { soundOf } from './attached.ts';
import { finished, OPENAI_DIALECTS, type BillClass } from './classes.ts';

/** Everything that has a price of its own, read to the end. */
export const PRICED: readonly BillClass[] = [
  finished(
    'input written to a cache for five minutes',
    (random) => ({
      model: 'claude',
      ask: { cacheFor: '5m' },
      answer: { cachedPercent: random.integer(0, 50), writtenPercent: random.integer(1, 50) },
    }),
    { dialects: ['messages'] },
  ),
  finished(
    'input written to a cache for an hour',
    (random) => ({
      model: 'claude',
      ask: { cacheFor: '1h' },
      answer: { cachedPercent: random.integer(0, 50), writtenPercent: random.integer(1, 50) },
    }),
    { dialects: ['messages'] },
  ),
  finished('reasoning with a price of its own', (random) => ({
    model: 'reasoner',
    answer: { hiddenTokens: random.integer(1, 5_000) },
  })),
  finished('dearer above a context length', (random) => ({
    model: 'tiered',
    ask: { prompt: random.prose(random.integer(200, 1_500)) },
  })),
  finished('price of the request itself', () => ({ model: 'by-request' })),
  finished(
    'service tiers',
    (random) => {
      const tier = random.pick(['priority', 'flex']);
      return {
        model: 'hasty',
        ask: { more: { service_tier: tier } },
        // A provider may answer in its ordinary tier instead, and says so.
        answer: { serviceTier: random.pick([tier, 'default']) },
      };
    },
    { dialects: OPENAI_DIALECTS },
  ),
  finished(
    'web searches',
    (random) => ({
      model: 'claude-searcher',
      ask: { more: { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 5 }] } },
      answer: { searches: random.integer(0, 5) },
    }),
    { dialects: ['messages'] },
  ),
  finished('audio heard and spoken', soundOf, { dialects: OPENAI_DIALECTS }),
  finished(
    'images by size and quality',
    (random) => ({
      model: 'fine-painter',
      ask: {
        images: {
          count: random.integer(1, 4),
          size: random.pick(['1024x1024', '1536x1024']),
          quality: random.pick(['low', 'medium', 'high']),
        },
      },
    }),
    { dialects: ['public images', 'v1 images'], forms: ['whole'], stages: ['never', 'before headers'] },
  ),
];
