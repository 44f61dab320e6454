import type { LanguageModelV4GenerateResult, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { UpstreamFailure } from '../port.ts';

/** Collects a stream of parts into a whole result. */
export async function collectParts(
  stream: ReadableStream<LanguageModelV4StreamPart>,
): Promise<LanguageModelV4GenerateResult> {
  let text = '';
  let reasoning = '';
  for await (const part of stream) {
    if (part.type === 'text-delta') text += part.delta;
    if (part.type === 'reasoning-delta') reasoning += part.delta;
    if (part.type !== 'finish') continue;
    const content: LanguageModelV4GenerateResult['content'] = [{ type: 'text', text }];
    if (reasoning !== '') content.unshift({ type: 'reasoning', text: reasoning });
    return { content, finishReason: part.finishReason, usage: part.usage, warnings: [] };
  }
  throw new UpstreamFailure('protocol', 'the generation ended without a finish');
}
