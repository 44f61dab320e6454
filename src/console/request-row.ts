import type { LoggedRequest } from '../activity/request-log.ts';
import { usd } from './amounts.ts';
import type { Millis, RequestOutcome, RequestState, Usd } from './contract.ts';

/** A row of the request log as the contract shows it. */
export function requestItem(row: LoggedRequest): RequestItem {
  return {
    id: row.id,
    at: row.created_at,
    endpoint: row.endpoint,
    model: row.model,
    kind: row.kind === 'images' ? 'images' : 'chat',
    state: row.state,
    // Written by the ledger, which uses no other values.
    outcome: row.outcome as RequestOutcome | null,
    errorCode: row.error_code,
    stream: row.stream === 1,
    inputTokens: row.input_tokens,
    cachedTokens: row.cached_tokens,
    outputTokens: row.output_tokens,
    reasoningTokens: row.reasoning_tokens,
    images: row.images,
    heldUsd: usd(row.held),
    chargedUsd: usd(row.charged),
    firstByteMs: row.first_byte_ms,
    durationMs: row.duration_ms,
    client: row.client,
  };
}

export interface RequestItem {
  id: string;
  at: Millis;
  endpoint: string;
  model: string;
  kind: 'chat' | 'images';
  state: RequestState;
  outcome: RequestOutcome | null;
  errorCode: string | null;
  stream: boolean;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  images: number;
  heldUsd: Usd;
  chargedUsd: Usd;
  firstByteMs: number | null;
  durationMs: number | null;
  /** The client's User-Agent. */
  client: string;
}
