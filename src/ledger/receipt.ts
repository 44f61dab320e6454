import { nanoUsd, type NanoUsd } from '../std/money.ts';
import type { RequestRow } from '../store/schema.ts';
import { RETRY_OF, type Attempt } from './port.ts';
import { costOf, type Price, type Usage } from './price.ts';
import { ATTEMPT_RESULTS, type StoredAttempt } from './decide.ts';

/** One request, line by line: enough to compute its bill again without asking anybody. */
export interface Receipt {
  readonly row: RequestRow;
  readonly price: Price;
  readonly usage: Usage;
  readonly lines: readonly ReceiptLine[];
  /** The lines' sum, rounded up once. What was charged is this, but never more than what was held. */
  readonly total: NanoUsd;
  readonly attempts: readonly Attempt[];
}

export interface ReceiptLine {
  readonly item: 'input' | 'cached_input' | 'output' | 'image';
  readonly quantity: number;
  /** Nano-USD per `per` units. */
  readonly unitPrice: number;
  readonly per: number;
  /** Exact dollars before rounding, as a decimal. */
  readonly amountUsd: string;
}

const PER_MILLION = 1_000_000;

export function receiptOf(row: RequestRow): Receipt {
  // Written by the ledger as JSON of exactly these types.
  const price = JSON.parse(row.price) as Price;
  const usage: Usage = {
    input: row.input_tokens,
    cached: row.cached_tokens,
    output: row.output_tokens,
    reasoning: row.reasoning_tokens,
    images: row.images,
  };
  return {
    row,
    price,
    usage,
    lines: linesOf(price, usage),
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
  return (JSON.parse(row.attempts) as StoredAttempt[]).map(([result, durationMs, upstream, reason]) => ({
    upstream: upstream || (row.upstream ?? ''),
    result: ATTEMPT_RESULTS[result] ?? 'failed',
    reason,
    durationMs,
  }));
}

function linesOf(price: Price, usage: Usage): ReceiptLine[] {
  if (price.kind === 'images') return [line('image', usage.images, price.image, 1)];
  const cached = usage.cached > 0 ? [line('cached_input', usage.cached, price.cachedInput, PER_MILLION)] : [];
  return [
    line('input', usage.input - usage.cached, price.input, PER_MILLION),
    ...cached,
    line('output', usage.output, price.output, PER_MILLION),
  ];
}

function line(item: ReceiptLine['item'], quantity: number, unitPrice: number, per: number): ReceiptLine {
  return { item, quantity, unitPrice, per, amountUsd: exactUsd(BigInt(quantity) * BigInt(unitPrice), per) };
}

/** Nano-USD × units ÷ `per` as decimal dollars: nine decimals of nano, six more of a millionth. */
function exactUsd(product: bigint, per: number): string {
  const decimals = per === 1 ? 9 : 15;
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
    lines: receipt.lines.map(({ item, quantity, unitPrice, per, amountUsd }) => ({
      item,
      quantity,
      unit_price_usd: dollars(nanoUsd(unitPrice)),
      per,
      amount_usd: amountUsd,
    })),
    held_usd: dollars(nanoUsd(row.held)),
    charged_usd: dollars(nanoUsd(row.charged)),
    backend: row.upstream,
    ...retriedRequest(receipt.attempts),
    attempts: receipt.attempts
      .filter((one) => !isRetry(one))
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
  const retried = attempts.find(isRetry)?.reason?.slice(RETRY_OF.length);
  return retried === undefined ? {} : { retry_of: retried };
}

function isRetry({ result, reason }: Attempt): boolean {
  return result === 'skipped' && reason?.startsWith(RETRY_OF) === true;
}

function dollars(amount: NanoUsd): string {
  return exactUsd(BigInt(amount), 1);
}
