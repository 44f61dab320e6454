import { PRICED_USES } from './dimensions.ts';
import type { ModelPrices } from './prices.ts';

/** The most that a picture takes: eight tiles of GPT-4o, and Claude's largest. */
const ATTACHMENTS = 'inputs: { image: { max_tokens: 1445 }, file: { max_tokens: 50000 } }';
const CLAUDE_ATTACHMENTS = 'inputs: { image: { max_tokens: 1600 }, file: { max_tokens: 50000 } }';

/**
 * Of what breaks off, each class has models of its own: a backend that broke off several times in a row rests for that
 * model, and would not be called for the other classes.
 */
const FRAGILE_PARTS = ['reset', 'text', 'usage', 'whole'] as const;
/** How the first of two backends fails. A provider's bill has sums by model: each class is billed on its own. */
const DOUBLED_PARTS = ['error', 'reset', 'event'] as const;
export type DoubledPart = (typeof DOUBLED_PARTS)[number];

function fragileModels(part: (typeof FRAGILE_PARTS)[number]): ModelPrices[] {
  return [
    {
      model: `fragile-${part}`,
      endpoint: 'svc_chat',
      keys: { input: '0.4', output: '1.6' },
      settings: 'context: 200000, max_output: 16000, cost: { open: { input: 0.4, output: 1.6 } }',
    },
    {
      model: `claude-fragile-${part}`,
      endpoint: 'svc_claude',
      keys: { input: '3', output: '15' },
      settings: 'context: 200000, max_output: 16000, cost: { claude: { input: 3, output: 15 } }',
    },
  ];
}

function doubledModels(part: DoubledPart): ModelPrices[] {
  return [
    {
      model: `doubled-${part}`,
      endpoint: 'svc_double',
      keys: { input: '0.4', output: '1.6' },
      settings:
        'context: 200000, max_output: 16000, cost: { first: { input: 0.4, output: 1.6 }, open: { input: 0.4, output: 1.6 } }',
    },
    {
      model: `claude-doubled-${part}`,
      endpoint: 'svc_claude_double',
      keys: { input: '3', output: '15' },
      settings:
        'context: 200000, max_output: 16000, cost: { claude-first: { input: 3, output: 15 }, claude: { input: 3, output: 15 } }',
    },
  ];
}

/** The model that breaks off, by the moment at which it does. */
export const BROKEN_MODEL = {
  'in mid text': (model: string) => `${model}-broken`,
  'after usage': (model: string) => `${model}-reported`,
} as const;

/** The model of a backend that is not waited for long. */
export function lateModel(model: string): string {
  return `${model}-late`;
}

const HASTY = 'timeouts: { first_byte_ms: 3000, idle_ms: 3000, total_ms: 5000 }';

function pricedModels({ model, prices }: (typeof PRICED_USES)[number]): ModelPrices[] {
  const isClaude = prices.endpoint === 'svc_claude';
  const costed = (name: string, backend: string): ModelPrices => ({
    ...prices,
    model: name,
    settings: `${prices.settings ?? ''}, cost: { ${backend}: { ${priceText({ ...prices, model })} } }`,
  });
  return [
    { ...prices, model },
    ...Object.values(BROKEN_MODEL).map((name) => costed(name(model), isClaude ? 'claude' : 'open')),
    {
      ...costed(lateModel(model), isClaude ? 'claude-hasty' : 'hasty'),
      endpoint: isClaude ? 'svc_claude_hasty' : 'svc_hasty',
    },
  ];
}

/** The models of the run, with the prices that both the catalog and the oracle are given. */
export const MODELS: readonly ModelPrices[] = [
  {
    model: 'plain',
    endpoint: 'svc_chat',
    keys: { input: '0.4', cached_input: '0.1', output: '1.6' },
    settings: 'context: 400000, max_output: 16000, vision: true, tools: true',
  },
  {
    // Prices of which no token is a whole number of nano-dollars: everything is rounded once, at the end.
    model: 'uneven',
    endpoint: 'svc_chat',
    keys: { input: '0.123456789', cached_input: '0.012345679', output: '0.987654321' },
    settings: 'context: 200000, max_output: 16000, tools: true',
  },
  {
    model: 'free-of-charge',
    endpoint: 'svc_chat',
    keys: {},
    settings: 'free: true, context: 200000, max_output: 16000',
  },
  {
    model: 'claude',
    endpoint: 'svc_claude',
    keys: { input: '3', cached_input: '0.3', output: '15' },
    settings: 'context: 200000, max_output: 16000, vision: true, tools: true',
  },
  {
    model: 'vectors',
    endpoint: 'svc_embed',
    keys: { input: '0.02', output: '0' },
    settings: 'context: 100000',
  },
  {
    model: 'painter',
    endpoint: 'svc_paint',
    keys: {},
    image: { '1024x1024': '0.02', '512x512': '0.018', '256x256': '0.016' },
    settings: 'sizes: [1024x1024, 512x512, 256x256]',
  },
  {
    model: 'thinker',
    endpoint: 'svc_chat',
    keys: { input: '1', output: '8' },
    settings: 'reasoning: hidden, context: 200000, max_output: 16000',
  },
  {
    model: 'finisher',
    endpoint: 'svc_chat',
    keys: { input: '0.4', output: '1.6' },
    settings: 'on_disconnect: finish, context: 200000, max_output: 16000',
  },
  {
    model: 'claude-finisher',
    endpoint: 'svc_claude',
    keys: { input: '3', output: '15' },
    settings: 'on_disconnect: finish, context: 200000, max_output: 16000',
  },
  {
    model: 'seer',
    endpoint: 'svc_chat',
    keys: { input: '0.4', output: '1.6' },
    settings: `context: 200000, max_output: 16000, vision: true, ${ATTACHMENTS}`,
  },
  {
    model: 'claude-seer',
    endpoint: 'svc_claude',
    keys: { input: '3', output: '15' },
    settings: `context: 200000, max_output: 16000, vision: true, ${CLAUDE_ATTACHMENTS}`,
  },
  {
    model: 'tiered',
    endpoint: 'svc_chat',
    keys: { input: '1.25', cached_input: '0.125', output: '10' },
    above: { tokens: 1_000, keys: { input: '2.5', cached_input: '0.25', output: '15' } },
    settings: 'context: 200000, max_output: 16000',
  },
  {
    model: 'fine-painter',
    endpoint: 'svc_paint',
    keys: {},
    image: {
      '1024x1024': { low: '0.009', medium: '0.034', high: '0.133' },
      '1536x1024': { low: '0.013', medium: '0.05', high: '0.2' },
    },
    settings: 'sizes: [1024x1024, 1536x1024], image_format: default',
  },
  ...FRAGILE_PARTS.flatMap(fragileModels),
  ...DOUBLED_PARTS.flatMap(doubledModels),
  ...PRICED_USES.flatMap(pricedModels),
];

const BY_NAME = new Map(MODELS.map((model) => [model.model, model]));

export function pricesOf(model: string): ModelPrices {
  const found = BY_NAME.get(model);
  if (!found) throw new Error(`no model ${model}`);
  return found;
}

export function endpointOf(model: string): string {
  return pricesOf(model).endpoint;
}

/** The catalog that sells them. `first` is asked before `usual` where a model has two backends. */
export function catalogText({ first, usual }: { readonly first: string; readonly usual: string }): string {
  return `
upstreams:
  open: { kind: openai, base_url: "${usual}" }
  first: { kind: openai, base_url: "${first}" }
  claude: { kind: anthropic, base_url: "${usual}", api_key: "\${BILL_BACKEND_KEY}" }
  claude-first: { kind: anthropic, base_url: "${first}", api_key: "\${BILL_BACKEND_KEY}" }
  hasty: { kind: openai, base_url: "${usual}", ${HASTY} }
  claude-hasty: { kind: anthropic, base_url: "${usual}", api_key: "\${BILL_BACKEND_KEY}", ${HASTY} }
lists:
${[...new Set(MODELS.map(({ endpoint }) => endpoint))].map(listOf).join('\n')}
endpoints:
  svc_chat: { name: chat, type: chat_completion, lists: [svc_chat], upstreams: [open] }
  svc_claude: { name: claude, type: chat_completion, lists: [svc_claude], upstreams: [claude] }
  svc_double: { name: chat, type: chat_completion, lists: [svc_double], upstreams: [first, open] }
  svc_claude_double: { name: claude, type: chat_completion, lists: [svc_claude_double], upstreams: [claude-first, claude] }
  svc_hasty: { name: chat, type: chat_completion, lists: [svc_hasty], upstreams: [hasty] }
  svc_claude_hasty: { name: claude, type: chat_completion, lists: [svc_claude_hasty], upstreams: [claude-hasty] }
  svc_embed: { name: embeddings, type: embedding, lists: [svc_embed], upstreams: [open] }
  svc_paint: { name: images, type: image_generation, lists: [svc_paint], upstreams: [open] }
`;
}

function listOf(endpoint: string): string {
  const entries = MODELS.filter((model) => model.endpoint === endpoint).map(
    (model) => `    - { ${entryOf(model)} }`,
  );
  return `  ${endpoint}:\n${entries.join('\n')}`;
}

function entryOf(model: ModelPrices): string {
  return [
    `model: ${model.model}`,
    ...(priceText(model) === '' ? [] : [priceText(model)]),
    ...(model.settings === undefined ? [] : [model.settings]),
  ].join(', ');
}

function priceText({ keys, image, each = {}, serviceTiers, above }: ModelPrices): string {
  return [
    ...pairs(keys),
    ...(image ? [`image: ${flow(image)}`] : []),
    ...Object.entries(each).map(([key, price]) => nested(key, price)),
    ...(serviceTiers ? [`service_tiers: ${flow(serviceTiers)}`] : []),
    ...(above ? [`above: { ${above.tokens}: ${flow(above.keys)} }`] : []),
  ].join(', ');
}

/** `tool_calls.web_search` is a member of `tool_calls`. */
function nested(key: string, price: string): string {
  const [group = '', member] = key.split('.');
  return member === undefined ? `${group}: ${price}` : `${group}: { ${member}: ${price} }`;
}

function pairs(keys: Readonly<Record<string, string | Readonly<Record<string, string>>>>): string[] {
  return Object.entries(keys).map(
    ([key, value]) => `${key}: ${typeof value === 'string' ? value : flow(value)}`,
  );
}

function flow(keys: Readonly<Record<string, string | Readonly<Record<string, string>>>>): string {
  return `{ ${pairs(keys).join(', ')} }`;
}
