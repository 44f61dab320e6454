import type { TokenEncoding } from '../../tokenizer/port.ts';

/** What a backend offers, as far as it says so itself in its list of models. */
export interface OfferedModel {
  readonly id: string;
  readonly name?: string | undefined;
  readonly contextTokens?: number | undefined;
  readonly maxOutput?: number | undefined;
  readonly vision?: boolean | undefined;
  readonly tools?: boolean | undefined;
  readonly reasoning?: boolean | undefined;
  readonly makes?: OfferedKind | undefined;
}

export type OfferedKind = 'chat' | 'embedding' | 'image' | 'other';

export interface Abilities {
  readonly vision: boolean;
  readonly tools: boolean;
  readonly reasoning: boolean | 'hidden';
  readonly maxOutput: number | undefined;
  readonly tokenizer: TokenEncoding | undefined;
}

export interface AssumedAbilities {
  readonly vision?: boolean | undefined;
  readonly tools?: boolean | undefined;
  readonly reasoning?: boolean | undefined;
}

interface Family {
  readonly name: RegExp;
  readonly can: Partial<Abilities>;
}

const HIDDEN = { vision: true, tools: true, reasoning: 'hidden' } as const;
const OPENAI = { tokenizer: 'o200k_base' } as const;

/**
 * Families whose providers list nothing but names: from the pages of OpenAI's, Anthropic's and Google's models. A
 * provider that says more is believed instead.
 */
const FAMILIES: readonly Family[] = [
  { name: /^gpt-(?:[5-9]|1\d)(?:[.-]|$)/, can: { ...HIDDEN, ...OPENAI, maxOutput: 128_000 } },
  { name: /^o[1-9]-mini(?:-|$)/, can: { tools: true, reasoning: 'hidden', ...OPENAI, maxOutput: 65_536 } },
  { name: /^o[1-9](?:-|$)/, can: { ...HIDDEN, ...OPENAI, maxOutput: 100_000 } },
  { name: /^gpt-4\.1(?:-|$)/, can: { vision: true, tools: true, ...OPENAI, maxOutput: 32_768 } },
  { name: /^gpt-4o(?:-|$)/, can: { vision: true, tools: true, ...OPENAI, maxOutput: 16_384 } },
  { name: /^claude-3-(?:haiku|sonnet|opus)(?:-|$)/, can: { vision: true, tools: true, maxOutput: 4_096 } },
  { name: /^claude-3-5-/, can: { vision: true, tools: true, maxOutput: 8_192 } },
  { name: /^claude-/, can: HIDDEN },
  { name: /^gemini-(?:2\.5|[3-9])/, can: HIDDEN },
  { name: /^gemini-/, can: { vision: true, tools: true } },
];

/** What the backend says, then what its name tells, then what its operator says of all that is not known. */
export function abilitiesOf(offered: OfferedModel, otherwise: AssumedAbilities = {}): Abilities {
  const name = offered.id.replace(/^.*\//, '').toLowerCase();
  const can = FAMILIES.find((family) => family.name.test(name))?.can ?? {};
  const thinks = offered.reasoning ?? (can.reasoning ?? otherwise.reasoning ?? false) !== false;
  return {
    vision: offered.vision ?? can.vision ?? otherwise.vision ?? false,
    tools: offered.tools ?? can.tools ?? otherwise.tools ?? false,
    reasoning: thinks ? (can.reasoning ?? true) : false,
    maxOutput: offered.maxOutput ?? can.maxOutput,
    tokenizer: can.tokenizer,
  };
}

/** Models that make images, by their names at OpenAI, Google and servers of open models. */
const IMAGE_NAMES =
  /dall-e|gpt-image|imagen|(?:^|[-/])flux|stable-diffusion|sdxl|(?:^|[-/])sd3|seedream|qwen-image|ideogram|recraft|hidream/i;

/** Models of OpenAI's and others' lists that make neither text, embeddings nor images. */
const OTHER_NAMES =
  /whisper|(?:^|[-/])tts|transcribe|realtime|moderation|gpt-audio|sora|(?:^|[-/])veo|davinci|babbage|rerank|turbo-instruct/i;

export function madeBy({ id, makes }: OfferedModel): OfferedKind {
  if (makes !== undefined && makes !== 'other') return makes;
  if (IMAGE_NAMES.test(id)) return 'image';
  if (makes !== undefined) return makes;
  if (/embed/i.test(id)) return 'embedding';
  return OTHER_NAMES.test(id) ? 'other' : 'chat';
}
