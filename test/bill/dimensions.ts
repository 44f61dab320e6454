import { ROWS } from '../../src/std/price-dimensions.ts';
import { pictureFor, TEN_SECONDS } from './attached.ts';
import { OPENAI_DIALECTS, type Content } from './classes.ts';
import { REASONING_NAMES } from './openai-wire.ts';
import { CHAT_DIALECTS, type Answer, type Ask, type ChatDialect } from './plan.ts';
import type { ModelPrices } from './prices.ts';
import type { Random } from './random.ts';

type Row = (typeof ROWS)[number];

/** How one thing that has a price is used at one kind of backend. */
export interface PricedUse {
  readonly name: string;
  readonly model: string;
  readonly prices: Omit<ModelPrices, 'model'>;
  readonly dialects: readonly ChatDialect[];
  /** A stream that breaks off before its report does not tell how much of it was used. */
  readonly isToldLast: boolean;
  make(random: Random): Pick<Content, 'ask' | 'answer'>;
}

/** https://platform.openai.com/docs/guides/audio. */
export const SPOKEN = { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'pcm16' } };

/** Whatever a row needs beyond the ordinary: how it is asked for, and how a backend shows it. */
interface RowUse {
  readonly ask?: (random: Random) => Partial<Ask>;
  readonly answer?: (random: Random) => Partial<Answer>;
  readonly dialects?: readonly ChatDialect[];
  readonly settings?: string;
  readonly isToldLast?: boolean;
}

/** At a backend that speaks OpenAI's chat. A row that is not here is used out of sight, and reported where it says. */
const OPENAI_USES: Readonly<Record<string, RowUse>> = {
  input: { answer: () => ({}), isToldLast: false },
  output: { answer: () => ({}), isToldLast: false },
  request: { answer: () => ({}), isToldLast: false },
  // OpenRouter takes Anthropic's marks: https://openrouter.ai/docs/features/prompt-caching.
  cache_write: { ask: () => ({ cacheFor: '5m' }), dialects: OPENAI_DIALECTS },
  cache_write_1h: { ask: () => ({ cacheFor: '1h' }), dialects: OPENAI_DIALECTS },
  audio_input: {
    ask: (random) => ({
      attachments: [
        { kind: 'audio', tokens: random.integer(10, 100), data: TEN_SECONDS, billedAs: 'audio_input' },
      ],
    }),
    answer: () => ({}),
    dialects: OPENAI_DIALECTS,
    settings: 'inputs: { audio: { tokens_per_second: 10 } }',
  },
  image_input: {
    ask: (random) => ({ attachments: [{ ...pictureFor('open', random), billedAs: 'image_input' }] }),
    answer: () => ({}),
    settings: 'vision: true, inputs: { image: { max_tokens: 1445 } }',
  },
  reasoning: {
    answer: (random) => ({ reasoning: { name: random.pick(REASONING_NAMES), text: random.prose(200) } }),
    isToldLast: false,
  },
  audio_output: {
    ask: () => ({ more: SPOKEN }),
    answer: (random) => ({ kind: 'transcript', spokenTokens: random.integer(20, 200) }),
    dialects: OPENAI_DIALECTS,
    isToldLast: false,
  },
  image_output: { answer: (random) => ({ pictures: random.integer(1, 2) }), isToldLast: false },
  // The number stands where OpenRouter reports it: https://openrouter.ai/docs/use-cases/usage-accounting.
  'tool_calls.web_search': {
    ask: () => ({ more: { web_search_options: {} } }),
    answer: (random) => ({ searches: { count: 4, tokensEach: random.integer(500, 2_000) } }),
    dialects: OPENAI_DIALECTS,
  },
};

/** At Anthropic's own; what is not here has no place in its usage. `message_start` tells the input. */
const CLAUDE_USES: Readonly<Record<string, RowUse>> = {
  input: { answer: () => ({}), isToldLast: false },
  cached_input: { dialects: ['messages'], isToldLast: false },
  cache_write: { ask: () => ({ cacheFor: '5m' }), dialects: ['messages'], isToldLast: false },
  cache_write_1h: { ask: () => ({ cacheFor: '1h' }), dialects: ['messages'], isToldLast: false },
  output: { answer: () => ({}), isToldLast: false },
  reasoning: {
    answer: (random) => ({ reasoning: { name: 'thinking', text: random.prose(200) } }),
    isToldLast: false,
  },
  'tool_calls.web_search': {
    ask: () => ({ more: { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 5 }] } }),
    answer: (random) => ({ searches: { count: 4, tokensEach: random.integer(500, 2_000) } }),
    dialects: ['messages'],
  },
  request: { answer: () => ({}), isToldLast: false },
};

const BACKENDS = {
  open: { prefix: '', endpoint: 'svc_chat', keys: { input: '0.4', output: '1.6' } },
  claude: { prefix: 'claude-', endpoint: 'svc_claude', keys: { input: '3', output: '15' } },
} as const;

/** Dearer than its side, so that a token that is taken for another kind is missed; what comes from a cache is cheaper. */
const OWN_TOKEN_PRICES = { input: '7.7', output: '31.3', beside: '0' } as const;
const CACHED_PRICE = '0.1';
const OWN_PRICE_EACH = '0.011';
const SETTINGS = 'context: 200000, max_output: 16000, tools: true';

/** Every row of the table that chats can use, at every backend that has a place for it. */
const ROW_USES: readonly PricedUse[] = ROWS.filter(({ soldIn }) => soldIn !== 'images').flatMap((row) => {
  const claude = CLAUDE_USES[row.key];
  return [useOf(row, 'open', OPENAI_USES[row.key] ?? {}), ...(claude ? [useOf(row, 'claude', claude)] : [])];
});

function useOf(row: Row, backend: keyof typeof BACKENDS, use: RowUse): PricedUse {
  if (row.isHeldIfAsked && !use.ask)
    throw new Error(`${row.key} is held if asked for: say how a request asks`);
  const { prefix, endpoint, keys } = BACKENDS[backend];
  const { ask, answer = (random: Random) => outOfSight(row, random) } = use;
  const isSide = row.key in keys;
  return {
    name: backend === 'open' ? row.key : `${row.key}, Claude`,
    model: `${prefix}sells-${row.item}`,
    prices: {
      endpoint,
      keys: { ...keys, ...(row.unit === 'token' && !isSide && { [row.key]: ownTokenPrice(row) }) },
      ...(row.unit === 'each' && { each: { [row.key]: OWN_PRICE_EACH } }),
      settings: [SETTINGS, ...(use.settings === undefined ? [] : [use.settings])].join(', '),
    },
    dialects: use.dialects ?? CHAT_DIALECTS,
    isToldLast: use.isToldLast ?? true,
    make: (random) => ({ ask: ask?.(random) ?? {}, answer: answer(random) }),
  };
}

function ownTokenPrice({ key, side }: Row): string {
  return key === 'cached_input' ? CACHED_PRICE : OWN_TOKEN_PRICES[side];
}

function outOfSight({ key, side, unit }: Row, random: Random): Partial<Answer> {
  if (side === 'input') return { inputPercents: { [key]: random.integer(5, 60) } };
  return { used: { [key]: unit === 'token' ? random.integer(50, 2_000) : random.integer(1, 4) } };
}

/** A tier is a factor, and no row: OpenAI's chunks name it, and Anthropic's first event does. */
const TIER_USES: readonly PricedUse[] = [
  {
    name: 'service_tiers',
    model: 'sells-tiers',
    prices: {
      endpoint: 'svc_chat',
      keys: BACKENDS.open.keys,
      serviceTiers: { priority: '2', flex: '0.5' },
      settings: SETTINGS,
    },
    dialects: OPENAI_DIALECTS,
    isToldLast: false,
    make(random) {
      const tier = random.pick(['priority', 'flex']);
      // A provider may answer in its ordinary tier instead, and says so.
      return {
        ask: { more: { service_tier: tier } },
        answer: { serviceTier: random.pick([tier, tier, 'default']) },
      };
    },
  },
  {
    name: 'service_tiers, Claude',
    model: 'claude-sells-tiers',
    prices: {
      endpoint: 'svc_claude',
      keys: BACKENDS.claude.keys,
      serviceTiers: { priority: '1.5' },
      settings: SETTINGS,
    },
    dialects: CHAT_DIALECTS,
    isToldLast: false,
    // Who has bought priority gets it unasked: https://platform.claude.com/docs/en/api/service-tiers.
    make: (random) => ({ answer: { serviceTier: random.pick(['priority', 'standard']) } }),
  },
];

export const PRICED_USES: readonly PricedUse[] = [...ROW_USES, ...TIER_USES];
