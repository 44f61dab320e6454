import type { Catalog } from '../catalog/catalog.ts';
import { receiptOf as billOf } from '../ledger/receipt.ts';
import { FACTOR_ONE } from '../std/price-dimensions.ts';
import type { RequestRow as StoredRequest } from '../store/schema.ts';
import { usd } from './amounts.ts';
import type { ReceiptDetail } from './contract.ts';
import { requestItem } from './request-row.ts';

const SOURCES = ['upstream', 'counted', 'mixed'] as const;

/** A request's bill, line by line, computed again from the price it was admitted at. */
export function receiptDetail(row: StoredRequest, catalog: Catalog): ReceiptDetail {
  const { lines, total, attempts } = billOf(row);
  return {
    ...requestItem(row),
    ...namesOf(row, catalog),
    releasedUsd: row.state === 'pending' ? null : usd(row.held - row.charged),
    finishedAt: row.finished_at,
    finishReason: row.finish_reason,
    usageSource: SOURCES.find((source) => source === row.usage_source) ?? null,
    outputCap: row.output_cap,
    choices: row.choices,
    lines: lines.map(({ item, quantity, unitPrice, per, factor, amountUsd }) => ({
      item,
      quantity,
      unitUsd: usd(unitPrice),
      per,
      factor: factor === undefined ? null : factor / FACTOR_ONE,
      amountUsd,
    })),
    totalUsd: usd(total),
    attempts: attempts.map(({ upstream, result, reason, durationMs }) => ({
      upstream,
      result,
      reason: reason ?? null,
      durationMs,
    })),
  };
}

function namesOf(
  row: StoredRequest,
  catalog: Catalog,
): Pick<ReceiptDetail, 'endpointName' | 'modelName' | 'playable'> {
  const endpoint = catalog.endpoints.get(row.endpoint);
  const model = endpoint?.models.find(({ id }) => id === row.model);
  const canServe = endpoint && model && endpoint.unavailable === undefined;
  return {
    endpointName: endpoint?.name ?? null,
    modelName: model?.displayName ?? null,
    playable: canServe ? endpoint.type : null,
  };
}
