import { z } from 'zod';
import type { Catalog, Model, TokenModelPrice } from '../../catalog/catalog.ts';
import { Amount, editCatalog } from '../../catalog/import/edit-yaml.ts';
import { ImportError } from '../../catalog/import/import-error.ts';
import { tokenPrice } from '../../catalog/price-schema.ts';
import { AuthRefusal } from '../../identity/sign-in/refusal.ts';
import { formatUsd, nanoUsd } from '../../std/money.ts';
import { usd } from '../amounts.ts';
import { MEGABYTE } from '../body.ts';
import type { AdminPriceDraft, AdminPrices, AdminPriceRow } from '../contract.ts';
import { route } from '../route.ts';
import { requireEditor } from './catalog.ts';

const MOST_CHANGES = 5_000;

/** Prices as a table; what is changed in it becomes a draft like any other. */
export const priceRoutes = [
  route('GET /api/console/admin/prices', {
    who: 'admin',
    compressed: true,
    handle: ({ catalog }): Promise<AdminPrices> => Promise.resolve({ items: rowsOf(catalog.current()) }),
  }),
  route('POST /api/console/admin/prices/draft', {
    who: 'admin',
    // It stores nothing, so there is nothing to record.
    maxBytes: MEGABYTE,
    body: z.strictObject({
      changes: z
        .array(
          z.strictObject({
            list: z.string().min(1).max(100),
            model: z.string().min(1).max(200),
            input: tokenPrice.optional(),
            output: tokenPrice.optional(),
          }),
        )
        .min(1)
        .max(MOST_CHANGES),
    }),
    handle(parts, { body: { changes } }): Promise<AdminPriceDraft> {
      const { yaml, version } = requireEditor(parts).text();
      const updates = changes.map(({ list, model, input, output }) => ({
        list,
        model,
        set: { input: amountOf(input), output: amountOf(output) },
      }));
      try {
        const edit = { upstreams: {}, models: {}, endpoints: {}, updates };
        return Promise.resolve({ yaml: editCatalog(yaml, edit), revision: version });
      } catch (error) {
        if (!(error instanceof ImportError)) throw error;
        throw new AuthRefusal('invalid_field', error.message, { param: 'changes' });
      }
    },
  }),
];

function amountOf(nano: number | undefined): Amount | undefined {
  return nano === undefined ? undefined : new Amount(formatUsd(nanoUsd(nano)));
}

/** Each model of each list once, however many endpoints offer the list. */
function rowsOf({ endpoints }: Catalog): AdminPriceRow[] {
  const rows = new Map<string, AdminPriceRow>();
  for (const { models } of endpoints.values())
    for (const model of models) {
      const key = `${model.list}\n${model.id}`;
      if (model.price.kind === 'tokens' && !model.free && !rows.has(key))
        rows.set(key, rowOf(model, model.price));
    }
  return [...rows.values()];
}

function rowOf({ list, id, displayName, costs }: Model, price: TokenModelPrice): AdminPriceRow {
  const known = [...costs.values()].filter((cost) => cost.kind === 'tokens');
  const dearest = (of: 'input' | 'output'): string => usd(Math.max(...known.map((cost) => cost[of])));
  return {
    list,
    model: id,
    name: displayName,
    input: usd(price.input),
    output: usd(price.output),
    cost: known.length === 0 ? null : { input: dearest('input'), output: dearest('output') },
  };
}
