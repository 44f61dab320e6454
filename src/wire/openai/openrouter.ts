import { z } from 'zod';
import { effortOfBudget } from '../reasoning-effort.ts';
import type { ChatEncoder } from './answer.ts';
import type { ChatChunk, ChatCompletion } from './chat.ts';

/**
 * What OpenRouter's clients ask for beside a chat of OpenAI's (https://openrouter.ai/docs/use-cases/reasoning-tokens,
 * https://openrouter.ai/docs/api/reference/parameters).
 */
export const openRouterFields = z.looseObject({
  reasoning: z
    .looseObject({
      effort: z.string().max(32).nullish(),
      max_tokens: z.number().int().min(0).nullish(),
      enabled: z.boolean().nullish(),
      exclude: z.boolean().nullish().describe('Leaves the thoughts out of the answer; they are charged.'),
    })
    .nullish(),
  include_reasoning: z.boolean().nullish(),
  usage: z.looseObject({ include: z.boolean().nullish() }).nullish(),
});

export type OpenRouterFields = z.infer<typeof openRouterFields>;

/** `reasoning` in the canonical words. */
export function openRouterEffort({ reasoning }: OpenRouterFields): string | undefined {
  const { effort, max_tokens: budget, enabled } = reasoning ?? {};
  if (effort != null) return effort;
  if (enabled === false || budget === 0) return 'none';
  if (budget != null) return effortOfBudget(budget);
  return enabled === true ? 'medium' : undefined;
}

export function hidesThoughts({ reasoning, include_reasoning: isIncluded }: OpenRouterFields): boolean {
  return reasoning?.exclude === true || isIncluded === false;
}

/** An encoder of OpenAI's dialect that leaves out what a model thinks. */
export function withoutThoughts(encoder: ChatEncoder): ChatEncoder {
  return {
    ...encoder,
    // Chunks of thoughts are left out, so one is no template for the others.
    isUniform: false,
    chunk(data, chunk) {
      const choices = chunk.choices ?? [];
      if (!choices.some(({ delta }) => hasThoughts(delta))) return encoder.chunk(data, chunk);
      const shown = { ...chunk, choices: choices.map((one) => ({ ...one, delta: visible(one.delta) })) };
      return saysNothing(shown) ? '' : encoder.chunk(JSON.stringify(shown), shown);
    },
  };
}

export function completionWithoutThoughts(completion: ChatCompletion): ChatCompletion {
  return {
    ...completion,
    choices: completion.choices.map((choice) => ({ ...choice, message: visible(choice.message) })),
  };
}

/** Under each of the names that backends give them. */
const THOUGHTS: ReadonlySet<string> = new Set([
  'reasoning_content',
  'reasoning',
  'reasoning_text',
  'reasoning_details',
  'reasoning_signature',
  'thinking',
  'thinking_blocks',
]);

function hasThoughts(message: object | undefined): boolean {
  for (const key in message) if (THOUGHTS.has(key)) return true;
  return false;
}

function visible<Message extends object>(message: Message): Message {
  // The same with fewer members, all of which may be absent.
  return Object.fromEntries(Object.entries(message).filter(([key]) => !THOUGHTS.has(key))) as Message;
}

/** Only thoughts were in it. Its first chunk says who speaks, the last why it ends, and those are sent. */
function saysNothing({ choices, usage }: ChatChunk): boolean {
  return (
    usage == null &&
    choices.every(
      ({ delta, finish_reason }) =>
        finish_reason == null && Object.values(delta).every((value) => value == null || value === ''),
    )
  );
}
