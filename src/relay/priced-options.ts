import { isEmpty, type Price } from '../ledger/price.ts';
import type { ExtraCeiling } from '../ledger/priced-parts.ts';
import type { ChatRequest } from '../wire/openai/chat.ts';
import type { NativeRequest } from './call.ts';
import type { MeteredUsage } from './stream/reported-usage.ts';

/** Held where a request allows web searches and does not say how many. */
export const DEFAULT_WEB_SEARCHES = 10;

/** What a chat asks for that may cost more than plain input and output; `undefined` for an ordinary one. */
export function pricedOptions(request: ChatRequest, native?: NativeRequest): ExtraCeiling | undefined {
  const body: Readonly<Record<string, unknown>> = native?.body ?? request;
  const marks = new Marks();
  if (body['cache_control'] != null) marks.read(body);
  if (Array.isArray(body['system'])) for (const block of body['system']) marks.read(block);
  for (const { content } of (native ? body['messages'] : request.messages) as ChatRequest['messages'])
    if (Array.isArray(content)) for (const part of content) marks.read(part);
  if (Array.isArray(body['tools'])) for (const tool of body['tools']) marks.readTool(tool);
  if (body['web_search_options'] != null) marks.webSearches += DEFAULT_WEB_SEARCHES;
  const { modalities, service_tier: tier } = body;
  const audioOutput = Array.isArray(modalities) && modalities.includes('audio');
  return marks.ceiling(typeof tier === 'string' ? tier : undefined, audioOutput);
}

/**
 * With `web_search_options` a model searches on every request, and its backend may bill that without counting it. With a
 * tool the model decides, and its backend reports how often.
 */
export function leastWebSearches(request: ChatRequest, price: Price): number | undefined {
  const isPriced = price.kind === 'tokens' && price.extra?.webSearch !== undefined;
  return isPriced && request['web_search_options'] != null ? 1 : undefined;
}

/** What was used, with the searches that the request asked for and its backend did not report. */
export function withAskedSearches(measured: MeteredUsage, least: number): MeteredUsage {
  const { usage, source } = measured;
  if ((usage.extra?.webSearches ?? 0) >= least || isEmpty(usage)) return measured;
  return {
    ...measured,
    usage: { ...usage, extra: { ...usage.extra, webSearches: least } },
    source: source === 'upstream' ? 'mixed' : source,
  };
}

class Marks {
  webSearches = 0;
  #cacheWrite = false;
  #cacheWrite1h = false;
  #audio = false;
  #image = false;

  /** A part of a message, a block of the system prompt, or a tool. */
  read(part: unknown): void {
    if (typeof part !== 'object' || part === null) return;
    const { type, cache_control: mark } = part as { type?: unknown; cache_control?: unknown };
    if (type === 'input_audio') this.#audio = true;
    else if (type === 'image_url' || type === 'image') this.#image = true;
    if (typeof mark !== 'object' || mark === null) return;
    this.#cacheWrite = true;
    this.#cacheWrite1h ||= (mark as { ttl?: unknown }).ttl === '1h';
  }

  /** Anthropic's search tool has its version in its type and its bound in `max_uses`. */
  readTool(tool: unknown): void {
    if (typeof tool !== 'object' || tool === null) return;
    this.read(tool);
    const { type, max_uses: most } = tool as { type?: unknown; max_uses?: unknown };
    if (typeof type !== 'string' || !type.startsWith('web_search')) return;
    this.webSearches +=
      Number.isSafeInteger(most) && (most as number) > 0 ? (most as number) : DEFAULT_WEB_SEARCHES;
  }

  ceiling(serviceTier: string | undefined, audioOutput: boolean): ExtraCeiling | undefined {
    const asked = {
      ...(this.#cacheWrite && { cacheWrite: true }),
      ...(this.#cacheWrite1h && { cacheWrite1h: true }),
      ...(serviceTier !== undefined && { serviceTier }),
      ...(this.webSearches > 0 && { webSearches: Math.min(this.webSearches, MAX_WEB_SEARCHES) }),
      ...(this.#audio && { audioInput: true }),
      ...(this.#image && { imageInput: true }),
      ...(audioOutput && { audioOutput }),
    };
    return Object.keys(asked).length === 0 ? undefined : asked;
  }
}

const MAX_WEB_SEARCHES = 1_000;
