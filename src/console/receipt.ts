import { z } from 'zod';
import { costOf, type Price, type Usage } from '../ledger/price.ts';
import type { NanoUsd } from '../std/money.ts';
import type { RequestRow as StoredRequest } from '../store/schema.ts';
import { usd, usdOfProduct } from './amounts.ts';
import type { Receipt, ReceiptAttempt, ReceiptLine } from './contract.ts';
import { requestRow } from './request-row.ts';

const PER_MILLION = 1_000_000;

/** A request's bill, line by line, computed again from the price it was admitted at. */
export function receiptOf(row: StoredRequest): Receipt {
  const price = JSON.parse(row.price) as Price;
  const usage = usageOf(row);
  return {
    ...requestRow(row),
    finishedAt: row.finished_at,
    finishReason: row.finish_reason,
    usageSource: row.usage_source === 'upstream' || row.usage_source === 'counted' ? row.usage_source : null,
    outputCap: row.output_cap,
    choices: row.choices,
    lines: linesOf(price, usage),
    totalUsd: usd(costOf(price, usage)),
    attempts: attemptsOf(row.attempts),
  };
}

function usageOf(row: StoredRequest): Usage {
  return {
    input: row.input_tokens,
    cached: row.cached_tokens,
    output: row.output_tokens,
    reasoning: row.reasoning_tokens,
    images: row.images,
  };
}

function linesOf(price: Price, usage: Usage): ReceiptLine[] {
  if (price.kind === 'images') return [imageLine(price.image, usage.images)];
  return [
    line('input', usage.input - usage.cached, price.input),
    line('cached_input', usage.cached, price.cachedInput),
    line('output', usage.output, price.output),
  ];
}

function line(item: ReceiptLine['item'], quantity: number, unit: number): ReceiptLine {
  return { item, quantity, unitUsd: usd(unit), per: PER_MILLION, amountUsd: usdOfProduct(quantity, unit) };
}

function imageLine(image: NanoUsd, quantity: number): ReceiptLine {
  return { item: 'image', quantity, unitUsd: usd(image), per: 1, amountUsd: usd(image * quantity) };
}

const attemptsSchema = z.array(
  z.object({
    upstream: z.string(),
    result: z.enum(['served', 'failed', 'skipped']),
    reason: z.string().optional(),
    durationMs: z.number(),
  }),
);

function attemptsOf(json: string | null): ReceiptAttempt[] {
  if (json === null) return [];
  return attemptsSchema.parse(JSON.parse(json)).map(({ upstream, result, reason, durationMs }) => ({
    upstream,
    result,
    reason: reason ?? null,
    durationMs,
  }));
}
