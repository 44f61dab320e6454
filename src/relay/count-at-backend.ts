import { placesFor, type Route } from '../catalog/catalog.ts';
import type { AccountId } from '../std/ids.ts';
import type { JsonText } from '../std/json-parse.ts';
import type { NativeRequest, RelayParts } from './call.ts';

export interface CountedConversation extends Pick<NativeRequest, 'body' | 'version' | 'beta'> {
  readonly account: AccountId;
  readonly requestId: string;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
}

/** Short, because a client waits for the count and our own is good enough. */
const MOST_WAIT_MS = 5_000;

/**
 * The input tokens of a conversation as a backend of the client's own dialect counts them, where one serves the model;
 * `undefined` if there is none, it is resting, or it does not answer in time. The result does not count for its health.
 */
export async function countAtBackend(
  route: Route,
  conversation: CountedConversation,
  parts: RelayParts,
): Promise<number | undefined> {
  const { upstreams, log } = parts;
  const native = placesFor(route)
    .flat()
    .find(({ upstream }) => parts.catalog().upstreams.get(upstream)?.speaksMessages === true);
  if (!native) return undefined;
  const { account, requestId, signal, ...request } = conversation;
  const model = route.model.upstreamModels.get(native.upstream) ?? route.model.id;
  const permit = upstreams.admit({ upstream: native.upstream, model, account });
  if (permit.kind === 'wait') return undefined;
  const waitMs = Math.min(MOST_WAIT_MS, upstreams.timeouts(native.upstream).firstByteMs);
  try {
    const answer = await permit.upstream.countTokens?.({
      ...request,
      model,
      // Counting has no output.
      maxTokens: 0,
      requestId,
      signal: AbortSignal.any([signal, AbortSignal.timeout(waitMs)]),
    });
    return answer && inputTokens(answer);
  } catch (error) {
    log.warn('backend_did_not_count', { backend: native.upstream, model, error });
    return undefined;
  } finally {
    permit.release();
  }
}

function inputTokens({ value }: JsonText): number | undefined {
  const { input_tokens: tokens } = (value ?? {}) as { input_tokens?: unknown };
  return typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens >= 0 ? tokens : undefined;
}
