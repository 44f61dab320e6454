import { costOf, priceFromText, type Price, type Usage } from '../price.ts';
import { textArray } from './batch.ts';
import type { IssuedHolds } from './issued-holds.ts';
import type { LedgerPool, Statement } from './pool.ts';
import type { RequestId } from '../../std/ids.ts';

interface UsedRequest {
  readonly requestId: RequestId;
  readonly usage: Usage;
}

/**
 * Price × usage of each request, where SQL cannot compute it: a price or usage with an `extra`. The prices of holds that
 * this node made are known; others are asked for.
 */
export async function owedFor(
  requests: readonly UsedRequest[],
  issued: IssuedHolds,
  pool: LedgerPool,
): Promise<(number | undefined)[]> {
  const prices = requests.map(({ requestId }) => issued.get(requestId)?.request.price);
  if (prices.every((price) => price !== undefined)) return requests.map((one, n) => owed(one, prices[n]));
  const unknown = requests.flatMap(({ requestId }, n) => (prices[n] === undefined ? [requestId] : []));
  const rows = await pool.call<PriceRow>(PRICES, [textArray(unknown)]);
  const found = new Map(rows.map(({ id, value }) => [id, value]));
  return requests.map((one, n) => owed(one, prices[n] ?? parsed(found.get(one.requestId))));
}

/** A request that has no hold any more is not charged, so it needs no price. */
function owed({ usage }: UsedRequest, price: Price | undefined): number | undefined {
  if (!price || (price.extra === undefined && usage.extra === undefined)) return undefined;
  return costOf(price, usage);
}

function parsed(value: string | undefined): Price | undefined {
  return value === undefined ? undefined : priceFromText(value);
}

interface PriceRow {
  readonly id: string;
  readonly value: string;
}

const PRICES: Statement = {
  name: 'ledger_hold_prices',
  text: 'SELECT h.id, p.value FROM hold h JOIN price p ON p.id = h.price WHERE h.id = ANY ($1::text[])',
};
