import { nanoUsd, type NanoUsd } from '../std/money.ts';
import { FACTOR_ONE, type PricedItem } from '../std/price-dimensions.ts';
import type { RequestRow } from '../store/schema.ts';
import { ATTEMPT_RESULTS, COST_BASES, type StoredAttempt } from './decide.ts';
import { CAP_BY, RETRY_OF, type Attempt } from './port.ts';
import { costOf } from './price.ts';
import { pricedParts, type PricedPart } from './priced-parts.ts';
import type { Price, Usage } from './price.ts';
import { extraUsageOf } from './price.ts';

/** One request, line by line: enough to compute its bill again without asking anybody. */
interface Receipt {
  readonly row: RequestRow;
  readonly price: Price;
  readonly usage: Usage;
  readonly lines: readonly ReceiptLine[];
  /** The lines' sum, rounded up once. What was charged is this, but never more than what was held. */
  readonly total: NanoUsd;
  readonly attempts: readonly Attempt[];
}

interface ReceiptLine {
  readonly item: PricedItem;
  readonly quantity: number;
  /** Nano-USD per `per` units. */
  readonly unitPrice: number;
  readonly per: number;
  /** The factor of the service tier, in millionths; absent: it is 1. */
  readonly factor?: number | undefined;
  /** Exact dollars before rounding, as a decimal. */
  readonly amountUsd: string;
}

export function receiptOf(row: RequestRow): Receipt {
  // Written by the ledger as JSON of exactly these types.
  const price = JSON.parse(row.price) as Price;
  const usage: Usage = {
    input: row.input_tokens,
    cached: row.cached_tokens,
    output: row.output_tokens,
    reasoning: row.reasoning_tokens,
    images: row.images,
    ...extraUsageOf(row.extra),
  };
  return {
    row,
    price,
    usage,
    lines: pricedParts(price, usage).map(lineOf),
    total: costOf(price, usage),
    attempts: attemptsOf(row),
  };
}

/** The attempts of a row of `request`. */
export function attemptsOf(row: {
  readonly attempts: string | null;
  readonly upstream: string | null;
}): Attempt[] {
  if (row.attempts === null) return [];
  // Written by `detailText` alone.
  return (JSON.parse(row.attempts) as StoredAttempt[]).map(
    ([result, durationMs, upstream, reason, cost, basis = 0]) => ({
      upstream: upstream || (row.upstream ?? ''),
      result: ATTEMPT_RESULTS[result] ?? 'failed',
      reason: reason === 0 ? undefined : reason,
      durationMs,
      ...(cost !== undefined && { cost: { amount: nanoUsd(cost), basis: COST_BASES[basis] ?? 'possible' } }),
    }),
  );
}

function lineOf({ item, quantity, unitPrice, per, factor }: PricedPart): ReceiptLine {
  const isOrdinary = factor === FACTOR_ONE;
  const product = BigInt(quantity) * BigInt(unitPrice) * (isOrdinary ? 1n : BigInt(factor));
  const decimals = (per === 1 ? 9 : 15) + (isOrdinary ? 0 : 6);
  const amountUsd = exactUsd(product, decimals);
  return { item, quantity, unitPrice, per, ...(!isOrdinary && { factor }), amountUsd };
}

/** As decimal dollars: nine decimals for nano-dollars, six more for millionths of them. */
export function exactUsd(product: bigint, decimals: number): string {
  const digits = product.toString().padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '').padEnd(2, '0');
  return `${digits.slice(0, -decimals)}.${fraction}`;
}

/** A receipt in the public API's words. */
export function receiptView(receipt: Receipt) {
  const { row, usage } = receipt;
  return {
    id: row.id,
    object: 'request',
    endpoint: row.endpoint,
    model: row.model,
    created: Math.floor(row.created_at / 1000),
    finished: row.finished_at === null ? null : Math.floor(row.finished_at / 1000),
    state: row.state,
    outcome: row.outcome,
    error_code: row.error_code,
    finish_reason: row.finish_reason,
    stream: row.stream === 1,
    usage: {
      input_tokens: usage.input,
      cached_tokens: usage.cached,
      output_tokens: usage.output,
      reasoning_tokens: usage.reasoning,
      images: usage.images,
      source: row.usage_source,
    },
    lines: receipt.lines.map(({ item, quantity, unitPrice, per, factor, amountUsd }) => ({
      item,
      quantity,
      unit_price_usd: dollars(nanoUsd(unitPrice)),
      per,
      ...(factor !== undefined && { factor: factor / FACTOR_ONE }),
      amount_usd: amountUsd,
    })),
    held_usd: dollars(nanoUsd(row.held)),
    charged_usd: dollars(nanoUsd(row.charged)),
    ...(receipt.price.group !== undefined && { price_group: receipt.price.group }),
    backend: row.upstream,
    ...retriedRequest(receipt.attempts),
    ...loweredCap(receipt),
    attempts: receipt.attempts
      .filter((one) => noteOf(one, RETRY_OF) === undefined && !isCapNote(one))
      .map(({ upstream, result, reason, durationMs }) => ({
        backend: upstream,
        result,
        reason: reason ?? null,
        duration_ms: durationMs,
      })),
    timing: { first_byte_ms: row.first_byte_ms, duration_ms: row.duration_ms },
  };
}

/** Names the request before this one with the same Idempotency-Key. */
function retriedRequest(attempts: readonly Attempt[]): { retry_of?: string } {
  const retried = attempts.map((one) => noteOf(one, RETRY_OF)).find((note) => note !== undefined);
  return retried === undefined ? {} : { retry_of: retried };
}

/** The output cap for each choice, where it was lowered, and by what. */
function loweredCap({ attempts, row }: Receipt): { max_tokens?: number; cap_reason?: string } {
  const reason = attempts.map((one) => noteOf(one, CAP_BY)).find((note) => note !== undefined);
  return reason === undefined ? {} : { max_tokens: row.output_cap, cap_reason: reason };
}

export function isCapNote(attempt: Attempt): boolean {
  return noteOf(attempt, CAP_BY) !== undefined;
}

/** Notes of a receipt are stored among its attempts, as attempts that were skipped. */
function noteOf({ result, reason }: Attempt, kind: string): string | undefined {
  return result === 'skipped' && reason?.startsWith(kind) === true ? reason.slice(kind.length) : undefined;
}

function dollars(amount: NanoUsd): string {
  return exactUsd(BigInt(amount), 9);
}
