import type { Catalog } from '../catalog/catalog.ts';
import { isCapNote, receiptOf as billOf } from '../ledger/receipt.ts';
import { FACTOR_ONE } from '../std/price-dimensions.ts';
import type { RequestRow as StoredRequest } from '../store/schema.ts';
import { usd } from './amounts.ts';
import type { LoggedRequest } from '../activity/request-log.ts';
import type { Millis, RequestOutcome, RequestState, Usd } from './contract.ts';

/** A row of the request log as the contract shows it. */
export function requestItem(row: LoggedRequest, tags?: RequestTagTexts): RequestItem {
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
    tags,
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
  /** The tags of the request, as far as they are kept. */
  tags?: RequestTagTexts | undefined;
}

/** Texts by the name of the tag. */
export type RequestTagTexts = Readonly<Record<string, string>>;

const SOURCES = ['upstream', 'counted', 'mixed'] as const;

/** A request's bill, line by line, computed again from the price it was admitted at. */
export function receiptDetail(row: StoredRequest, catalog: Catalog, tags?: RequestTagTexts) {
  const { lines, total, attempts, price } = billOf(row);
  return {
    ...requestItem(row, tags),
    ...namesOf(row, catalog),
    /** What was held and not charged; null while it runs. */
    releasedUsd: row.state === 'pending' ? null : usd(row.held - row.charged),
    finishedAt: row.finished_at,
    finishReason: row.finish_reason,
    /** The price group; null: these are list prices. */
    priceGroup: price.group ?? null,
    /** Who counted: the backend, or Tollgate's own meter. */
    usageSource: SOURCES.find((source) => source === row.usage_source) ?? null,
    /** The output cap that the hold covered. */
    outputCap: row.output_cap,
    choices: row.choices,
    lines: lines.map(({ item, quantity, unitPrice, per, factor, amountUsd }) => ({
      item,
      quantity,
      /** Dollars per `per` units. */
      unitUsd: usd(unitPrice),
      per,
      /** The factor of the service tier; null: it is 1. */
      factor: factor === undefined ? null : factor / FACTOR_ONE,
      /** Exact, before rounding; up to fifteen decimals. */
      amountUsd,
    })),
    /** The sum of the lines, rounded up once to a whole nano-dollar; what was charged is never more than what was held. */
    totalUsd: usd(total),
    attempts: attempts
      .filter((one) => !isCapNote(one))
      .map(({ upstream, result, reason, durationMs }) => ({
        upstream,
        result,
        reason: reason ?? null,
        durationMs,
      })),
  };
}

/** Names from the present catalog; null for what it has no longer. */
function namesOf(row: StoredRequest, catalog: Catalog) {
  const endpoint = catalog.endpoints.get(row.endpoint);
  const model = endpoint?.models.find(({ id }) => id === row.model);
  const canServe = endpoint && model && endpoint.unavailable === undefined;
  return {
    endpointName: endpoint?.name ?? null,
    modelName: model?.displayName ?? null,
    /** The type of the endpoint, if the model can be called now. */
    playable: canServe ? endpoint.type : null,
  };
}
