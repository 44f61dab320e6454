/** What `GET /v1/models` needs to know about a model. Prices are nano-USD, of a million tokens or of one image. */
export interface ModelEntry {
  /** The id as a client writes it: `code/model`, or an alias. */
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  readonly kind: 'chat_completion' | 'image_generation' | 'embedding' | 'moderation';
  readonly contextTokens: number;
  readonly maxOutput: number;
  readonly price:
    | {
        readonly kind: 'tokens';
        readonly input: number;
        readonly cachedInput: number;
        readonly output: number;
      }
    | { readonly kind: 'images'; readonly image: number };
  /** Every price that the catalog names, in the order of a bill. */
  readonly prices: readonly ModelPriceLine[];
  readonly serviceTiers: Readonly<Record<string, number>>;
  /** Its prices from a moment on; none: it is not sold then. Absent: no change is known. */
  readonly next?:
    | {
        readonly from: number;
        readonly prices: readonly ModelPriceLine[];
        readonly serviceTiers: Readonly<Record<string, number>>;
      }
    | undefined;
  readonly vision: boolean;
  readonly tools: boolean;
  readonly reasoning: boolean;
  /** Of an image model: what it takes, by the names of a request. `null`: nobody here knows. */
  readonly abilities?: ListedAbilities | undefined;
}

type ListedAbilities = Readonly<Record<string, unknown>>;

/**
 * One body for the clients of OpenAI, Anthropic and OpenRouter. LibreChat takes prices and windows from it only if every
 * entry has them, and Open WebUI fails on a name that is null, so of these no field is ever left out.
 */
export function modelsList(models: readonly ModelEntry[]): ModelsList {
  const data = models.map(oneModel);
  return {
    object: 'list',
    has_more: false,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    data,
  };
}

export function oneModel(model: ModelEntry): ModelBody {
  return {
    id: model.id,
    object: 'model',
    type: 'model',
    created: CREATED,
    created_at: CREATED_AT,
    owned_by: model.owner,
    name: model.name,
    display_name: model.name,
    context_length: model.contextTokens,
    max_input_tokens: model.contextTokens,
    max_output_tokens: model.maxOutput,
    max_tokens: model.maxOutput,
    architecture: {
      input_modalities: model.vision ? ['text', 'image'] : ['text'],
      output_modalities: [OUTPUTS[model.kind]],
    },
    pricing: pricing(model),
    prices: model.prices.map(priceBody),
    ...(model.next && {
      next_prices: {
        from: new Date(model.next.from).toISOString(),
        prices: model.next.prices.map(priceBody),
        service_tiers: model.next.serviceTiers,
      },
    }),
    service_tiers: model.serviceTiers,
    supported_parameters: parameters(model),
    ...(model.abilities && { abilities: model.abilities }),
  };
}

function priceBody({ dimension, amount, per, above, quality }: ModelPriceLine): PriceBody {
  return {
    dimension,
    usd: decimal(amount, 9),
    per,
    above_input_tokens: above ?? null,
    quality: quality ?? null,
  };
}

interface ModelsList {
  object: 'list';
  has_more: false;
  first_id: string | null;
  last_id: string | null;
  data: ModelBody[];
}

interface ModelBody {
  id: string;
  object: 'model';
  type: 'model';
  created: number;
  created_at: string;
  owned_by: string;
  name: string;
  display_name: string;
  context_length: number;
  max_input_tokens: number;
  max_output_tokens: number;
  max_tokens: number;
  architecture: { input_modalities: string[]; output_modalities: string[] };
  pricing: Pricing;
  prices: PriceBody[];
  next_prices?: { from: string; prices: PriceBody[]; service_tiers: Readonly<Record<string, number>> };
  service_tiers: Readonly<Record<string, number>>;
  supported_parameters: string[];
  abilities?: ListedAbilities;
}

/** One price, in nano-USD. */
interface ModelPriceLine {
  /** The key in the catalog; of an image its size. */
  readonly dimension: string;
  readonly amount: number;
  /** How many of it the amount is for. */
  readonly per: number;
  readonly above?: number | undefined;
  readonly quality?: string | undefined;
}

interface PriceBody {
  dimension: string;
  usd: string;
  per: number;
  above_input_tokens: number | null;
  quality: string | null;
}

/** USD as decimal text: per token, per request, per image, per search. The names are OpenRouter's. */
interface Pricing {
  prompt: string;
  completion: string;
  input_cache_read: string;
  input_cache_write: string;
  internal_reasoning: string;
  web_search: string;
  request: string;
  image: string;
}

/** Clients want a date and do nothing with it; the catalog has none, and it must not change from call to call. */
const CREATED = 1_700_000_000;
const CREATED_AT = '2023-11-14T22:13:20Z';

const OUTPUTS = {
  chat_completion: 'text',
  image_generation: 'image',
  embedding: 'embeddings',
  moderation: 'moderation',
};

function pricing({ price, prices }: ModelEntry): Pricing {
  const named = (dimension: string): number | undefined =>
    prices.find((one) => one.dimension === dimension && one.above === undefined)?.amount;
  const once = {
    web_search: decimal(named('web_search') ?? 0, 9),
    request: decimal(named('request') ?? 0, 9),
  };
  switch (price.kind) {
    case 'tokens':
      return {
        prompt: perToken(price.input),
        completion: perToken(price.output),
        input_cache_read: perToken(price.cachedInput),
        input_cache_write: perToken(named('cache_write') ?? price.input + Math.ceil(price.input / 4)),
        internal_reasoning: perToken(named('reasoning') ?? price.output),
        ...once,
        image: '0',
      };
    case 'images':
      return {
        prompt: '0',
        completion: '0',
        input_cache_read: '0',
        input_cache_write: '0',
        internal_reasoning: '0',
        ...once,
        image: decimal(price.image, 9),
      };
  }
}

/** Nano-USD per million tokens is USD per token with fifteen decimals, exactly. */
function perToken(nanoUsdPerMillion: number): string {
  return decimal(nanoUsdPerMillion, 15);
}

function decimal(units: number, decimals: number): string {
  const digits = BigInt(units)
    .toString()
    .padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  const whole = digits.slice(0, -decimals);
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

const CHAT_PARAMETERS = ['max_tokens', 'temperature', 'top_p', 'stop', 'seed', 'response_format'];

function parameters(model: ModelEntry): string[] {
  switch (model.kind) {
    case 'chat_completion':
      return [
        ...CHAT_PARAMETERS,
        ...(model.tools ? ['tools', 'tool_choice'] : []),
        ...(model.reasoning ? ['reasoning_effort'] : []),
      ];
    case 'image_generation':
      return ['n', 'size', ...imageParameters(model.abilities), 'response_format', 'stream'];
    case 'embedding':
      return ['dimensions', 'encoding_format'];
    case 'moderation':
      return [];
  }
}

const IMAGE_PARAMETERS = [
  'quality',
  'background',
  'output_format',
  'output_compression',
  'moderation',
  'style',
  'seed',
  'negative_prompt',
  'mask',
];

function imageParameters(abilities: ListedAbilities | undefined): string[] {
  if (!abilities || abilities['mask'] === null) return ['quality'];
  const { shapes, reference_images: references } = abilities;
  const names = (Array.isArray(shapes) ? shapes : []) as Record<string, unknown>[];
  return [
    ...['aspect_ratio', 'resolution'].filter((name) => names.some((shape) => shape[name] !== null)),
    ...(references === 0 ? [] : ['image']),
    ...(abilities['partial_images'] === 0 ? [] : ['partial_images']),
    ...IMAGE_PARAMETERS.filter((name) => {
      const value = abilities[name];
      return Array.isArray(value) ? value.length > 0 : value === true;
    }),
  ];
}
