import { z } from 'zod';
import { TOKEN_ENCODINGS } from '../tokenizer/port.ts';
import { CAP_FIELDS, IMAGE_FORMATS, ON_DISCONNECT } from './catalog.ts';
import { imageAbilities, modelSizes } from './image-abilities-schema.ts';
import { UPSTREAM_KIND_NAMES } from './kinds.ts';
import { PRESET_NAMES } from './presets.ts';
import { checkModel } from './model-check.ts';
import { isModelPattern, LONGEST_PATTERN, MOST_PATTERNS } from '../std/model-patterns.ts';
import { FACTOR_ONE } from '../std/price-dimensions.ts';
import { costPrices, dailyLimit, markupFactor, PRICE_KEYS, tokenPrice } from './price-schema.ts';
import { choice, mustBeOneOf, strict, whole } from './strict.ts';

/** `${ENV_NAME}` as a whole value. */
export const REFERENCE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/;

const MAX_TOKENS = 10_000_000;
const HOUR_MS = 3_600_000;

const name = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/,
    'must be 1 to 64 letters, digits, _ or -, beginning with a letter or digit',
  );
const text = z.string().trim().min(1, 'must not be empty').max(500, 'must be at most 500 characters');
const modelId = z
  .string()
  .regex(/^[^\s\p{C}]{1,200}$/u, 'must be a model id: 1 to 200 characters without spaces')
  .meta({ description: 'The id used in requests; may contain /, : and .' });

const model = strict({
  model: modelId,
  display_name: text.optional().describe('Shown to people; the id when absent.'),
  ...PRICE_KEYS,
  sizes: modelSizes
    .optional()
    .describe(
      'Allowed sizes: a list whose first is the default, or a range such as { default: 1024x1024, step: 16, max_edge: 3840, max_ratio: 3, max_pixels: 8294400 }.',
    ),
  abilities: imageAbilities
    .optional()
    .describe(
      'Image models: what a request may ask for beside prompt and size. Anything else is refused, and so is any other value. When absent, the fields are passed on, and the backend decides.',
    ),
  context: whole(1, MAX_TOKENS)
    .optional()
    .describe(
      'Input and output tokens together. When absent it is not known, and at most 128000 are accepted.',
    ),
  max_output: whole(1, MAX_TOKENS)
    .optional()
    .describe('The most output tokens of one answer; 16384 when absent, or the context if that is less.'),
  upstream_models: z
    .record(name, modelId)
    .default({})
    .describe("The model's id at an upstream, where it differs."),
  cap_field: choice(CAP_FIELDS)
    .optional()
    .describe(
      "The backend's name of the output cap; when absent, as options.cap_field of the upstream or the model's name says.",
    ),
  image_format: choice(IMAGE_FORMATS)
    .optional()
    .describe(
      "The response_format that images are asked for in, or default: none is sent. When absent, as options.image_format of the upstream or the model's name says.",
    ),
  tokenizer: choice(TOKEN_ENCODINGS)
    .optional()
    .describe(
      "The model's own tokenizer, for what its backend does not count. When absent, o200k_base counts, and holds have 15 % more.",
    ),
  free: z.boolean().default(false).describe('Sold for nothing, on purpose.'),
  inputs: strict({
    image: strict({ max_tokens: whole(1, MAX_TOKENS) })
      .optional()
      .describe('Takes pictures: the most input tokens of one. Smaller ones are measured.'),
    audio: strict({ tokens_per_second: whole(1, 10_000) })
      .optional()
      .describe('Takes sound: the input tokens of a second.'),
    file: strict({ max_tokens: whole(1, MAX_TOKENS) })
      .optional()
      .describe('Takes files, inline or by address: the most input tokens of one.'),
  })
    .optional()
    .describe('The attachments that it takes; others are refused.'),
  vision: z
    .boolean()
    .default(false)
    .describe(
      'Takes pictures. Without inputs.image the bound of one is 48169 tokens; smaller ones are measured.',
    ),
  tools: z.boolean().default(false).describe('Can call tools.'),
  reasoning: z
    .union([z.boolean(), z.literal('hidden'), tokenPrice], {
      error: 'must be true, false, hidden, or a price such as 0.25',
    })
    .default(false)
    .describe(
      'Thinks before it answers; a model that does not gets requests without reasoning_effort and the like. hidden: most of what it thinks is billed and not shown; a number also is the USD per million reasoning tokens.',
    ),
  on_disconnect: choice(ON_DISCONNECT)
    .optional()
    .describe(
      'A stream whose client leaves: stop ends the work of the backend, finish lets it come to its end and charges its usage. When absent, finish for models with reasoning: hidden and for requests that may use what only the report of the backend tells (attachments, caches, sound, pictures, web searches), else stop; free models always stop.',
    ),
  cost: z
    .record(name, costPrices)
    .default({})
    .describe('What an upstream takes for this model, with the keys of a price; never shown to customers.'),
}).superRefine(checkModel);

const MAX_KEYS = 50;
const secretReference = z
  .string()
  .regex(REFERENCE, 'must be ${ENV_NAME}: secrets are read from the environment and never written here');

/** The name of a preset is short for kind openai with that preset, unless it is a kind itself. */
const KINDS = [...new Set([...UPSTREAM_KIND_NAMES, ...PRESET_NAMES])] as const;

const LISTED_KINDS = `${UPSTREAM_KIND_NAMES.join(', ')}, or the name of a preset such as groq`;

const upstream = strict({
  kind: z
    .enum(KINDS, { error: ({ input }) => mustBeOneOf(KINDS, input, LISTED_KINDS) })
    .describe('The API that it speaks, or a preset: groq is short for kind openai with preset groq.'),
  preset: choice(PRESET_NAMES)
    .optional()
    .describe(
      'A known provider: its address, the variable of its key, and how its requests are written. For kind openai; what is written here goes first.',
    ),
  base_url: z.string().optional().describe('Address of the server, or a whole ${ENV_NAME}.'),
  api_key: secretReference.optional().describe('${ENV_NAME}: the environment variable that holds the key.'),
  api_keys: z
    .array(secretReference)
    .min(1, 'must hold at least one key')
    .max(MAX_KEYS, `must hold at most ${MAX_KEYS} keys`)
    .refine((keys) => new Set(keys).size === keys.length, 'must not name a key twice')
    .optional()
    .describe(
      'In place of api_key: several keys that share the load. One that is over its limit, or refused, rests alone.',
    ),
  headers: z
    .record(
      z.string().regex(/^[A-Za-z0-9][A-Za-z0-9!#$%&'*+.^_`|~-]{0,99}$/, 'must be a header name'),
      z.string().max(4096),
    )
    .default({})
    .describe('Sent with every request; a value may be a whole ${ENV_NAME}.'),
  timeouts: strict({
    first_byte_ms: whole(10, HOUR_MS).default(60_000).describe('Until the answer begins.'),
    idle_ms: whole(10, HOUR_MS).default(60_000).describe('Silence within a stream.'),
    total_ms: whole(10, 24 * HOUR_MS)
      .default(600_000)
      .describe('The whole call.'),
  }).prefault({}),
  paused: z
    .boolean()
    .default(false)
    .describe('True: it gets no new requests; those that it has end as they would.'),
  daily_cost_limit_usd: dailyLimit
    .optional()
    .describe('It is not asked for the rest of a UTC day on which it has cost so much.'),
  markup: markupFactor
    .optional()
    .describe(
      'What `tollgate catalog import` multiplies the list prices of its models by, such as 1.2; prices change only when an import is confirmed.',
    ),
  pass_fields: z
    .array(z.string().regex(/^[\w.-]{1,64}$/, 'must be the name of a request field'))
    .max(64)
    .default([])
    .describe(
      'Further fields of a request that this backend gets as the client wrote them, although nothing here knows their price; for servers of your own.',
    ),
  options: z
    .record(z.string(), z.union([z.string().max(4096), z.number(), z.boolean()]).transform(String))
    .default({})
    .describe(
      'What else the kind needs, e.g. region (bedrock), resource and api_version (azure), path (gguf); docs/providers.md has them all.',
    ),
});

const weighted = strict({ name, weight: whole(1, 1000) });

const endpoint = strict({
  name: text,
  type: choice(['chat_completion', 'image_generation', 'embedding', 'moderation']),
  lists: z.array(name).default([]).describe('Lists whose models it offers.'),
  upstreams: z
    .array(z.union([name, weighted], { error: 'must be the name of an upstream, or { name, weight }' }))
    .default([])
    .describe(
      'Tried in order. { name, weight } entries that follow each other form one place and share its load by weight.',
    ),
  sort: choice(['order', 'price'])
    .optional()
    .describe(
      'price: for each model the upstream that takes the least goes first, by the cost of the model. Those that take the same share the load by weight; those without a cost come last.',
    ),
  sticky: choice(['account'])
    .optional()
    .describe(
      'account: within a place an account always gets the same upstream, as long as it can serve, so that its prompts are found in the cache there. Weights then share the accounts.',
    ),
  selectable: z
    .array(name)
    .min(1, 'must hold at least one upstream')
    .optional()
    .describe(
      'Upstreams that clients may choose by these names in `provider` of a chat: { order, only, allow_fallbacks }. When absent, they cannot choose.',
    ),
  unavailable: text.optional().describe('Why it cannot serve now; requests are refused with these words.'),
});

const MAX_GROUPS = 50;

const group = strict({
  factor: markupFactor
    .default(FACTOR_ONE)
    .describe('Every price times this, rounded up to a nano-USD, such as 0.9; 1 when absent.'),
  hide: z
    .array(
      z
        .string()
        .refine(
          isModelPattern,
          `must be a pattern such as svc_chat/gpt-5 or svc_chat/*, of at most ${LONGEST_PATTERN} characters`,
        ),
    )
    .max(MOST_PATTERNS, `must hold at most ${MOST_PATTERNS} patterns`)
    .default([])
    .describe(
      'Models that its wallets neither see nor use, as patterns of code/model; * stands for anything.',
    ),
  prices: z
    .record(z.string(), costPrices)
    .default({})
    .describe(
      'Prices of its own, by code/model, with the keys of a price. What is named here is not multiplied; what is not named is the list price times the factor.',
    ),
});

const CATALOG_KEYS = {
  upstreams: z.record(name, upstream).describe('Backends, by name.'),
  lists: z
    .record(name, z.array(model).min(1, 'must hold at least one model'))
    .describe('Models and their prices; the name of the list is the `source_table` of the public API.'),
  endpoints: z.record(name, endpoint).describe('What clients ask for, by code.'),
  limits: strict({
    chat_per_minute: whole(1, 1_000_000).default(600),
    images_per_minute: whole(1, 1_000_000).default(60),
    concurrent: whole(1, 100_000).default(50),
  })
    .prefault({})
    .describe('Per account, where the account has none of its own.'),
  groups: z
    .record(
      name.refine((key) => key !== 'none', 'is the word for no group; choose another name'),
      group,
    )
    .refine((groups) => Object.keys(groups).length <= MAX_GROUPS, `must have at most ${MAX_GROUPS} groups`)
    .default({})
    .describe('Price groups: what the accounts and teams in them pay in place of the list prices.'),
  aliases: z
    .record(
      z.string().regex(/^[A-Za-z0-9][^\s\p{C}]{0,199}$/u, 'must be a model name without spaces'),
      z.string(),
    )
    .default({})
    .describe('Other model names for /v1 clients, each standing for `code/model`.'),
};

/** Further keys of the file, for other modules that read it. The label names a key where changes are listed. */
export type FileSettings = Readonly<Record<string, { readonly label: string; readonly schema: z.ZodType }>>;

/** The file: one schema for the parser, the editor's JSON Schema and the documentation. */
export function catalogFile(settings: FileSettings) {
  const more = Object.entries(settings).map(([key, { schema }]) => [key, schema] as const);
  return strict({ ...CATALOG_KEYS, ...Object.fromEntries(more) });
}

export type CatalogFile = z.output<z.ZodObject<typeof CATALOG_KEYS>>;
export type ModelFileEntry = z.output<typeof model>;
export type GroupEntry = z.output<typeof group>;
export type EndpointEntry = z.output<typeof endpoint>;
export type WrittenUpstream = z.output<typeof upstream>;
