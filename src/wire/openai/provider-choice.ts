import { z } from 'zod';
import { Fault } from '../../std/fault.ts';

/** Which backends a client wants, in the words of OpenRouter (https://openrouter.ai/docs/features/provider-routing). */
export interface ProviderChoice {
  /** These first, in this order. */
  readonly order: readonly string[] | undefined;
  /** No others. */
  readonly only: readonly string[] | undefined;
  /** False: none but the first, or but those of the order. */
  readonly allowFallbacks: boolean;
}

const MOST_NAMES = 64;
const names = z.array(z.string().max(200)).min(1).max(MOST_NAMES).nullish();
const choice = z.strictObject({ order: names, only: names, allow_fallbacks: z.boolean().nullish() });

/** What is promised by other fields (price, privacy, quantization) nobody here would keep, so they are refused. */
export function providerChoiceOf(value: unknown): ProviderChoice {
  const parsed = choice.safeParse(value);
  if (!parsed.success) throw invalid(parsed.error.issues[0]);
  const { order, only, allow_fallbacks: allowFallbacks } = parsed.data;
  return { order: order ?? undefined, only: only ?? undefined, allowFallbacks: allowFallbacks ?? true };
}

function invalid(issue: z.core.$ZodIssue | undefined): Fault {
  if (issue?.code === 'unrecognized_keys') {
    const param = `provider.${issue.keys[0] ?? ''}`.slice(0, MOST_CHARACTERS);
    return new Fault('invalid_field', `${param} is not supported; order, only and allow_fallbacks are.`, {
      param,
    });
  }
  const param = ['provider', ...(issue?.path ?? [])].join('.');
  return new Fault('invalid_field', `${param}: ${issue?.message ?? 'is not valid'}`, { param });
}

const MOST_CHARACTERS = 100;
