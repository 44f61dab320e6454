import { BOTH, classMaker, NEVER, OPENAI_DIALECTS, plainOrClaude, type BillClass } from './classes.ts';

const refused = classMaker('refused', { dialects: OPENAI_DIALECTS, forms: BOTH, stages: NEVER });

/** With these fields more could be had for the price of an ordinary request: nobody may be asked. */
export const REFUSED: readonly BillClass[] = [
  refused('fields that cost and have no price', (random) => ({
    model: plainOrClaude(random),
    ask: { unknown: Object.fromEntries([random.pick(COSTLY_FIELDS)]) },
  })),
  refused(
    'fields of the Messages API that cost and have no price',
    (random) => ({
      model: 'claude',
      ask: { unknown: Object.fromEntries([random.pick(COSTLY_MESSAGES_FIELDS)]) },
    }),
    { dialects: ['messages'] },
  ),
];

const COSTLY_FIELDS: readonly (readonly [string, unknown])[] = [
  ['n_predict', 100_000],
  ['max_new_tokens', 100_000],
  ['options', { num_predict: 100_000 }],
  ['min_tokens', 10_000],
  ['best_of', 8],
  ['models', ['dearer']],
  ['plugins', [{ id: 'web' }]],
  ['prediction', { type: 'content', content: 'what may come' }],
  ['web_search_options', {}],
  ['service_tier', 'priority'],
];

const COSTLY_MESSAGES_FIELDS: readonly (readonly [string, unknown])[] = [
  ['mcp_servers', [{ type: 'url', url: 'https://tools.example', name: 'tools' }]],
  ['container', 'container_1'],
  ['speed', 'fast'],
  ['tools', [{ type: 'web_search_20250305', name: 'web_search' }]],
];
