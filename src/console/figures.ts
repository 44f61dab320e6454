import { z } from 'zod';
import { modelFigures, uptimeOf, type Quantiles } from '../activity/model-figures.ts';
import { Fault } from '../std/fault.ts';
import { dayText } from './amounts.ts';
import { catalogSeenBy, modelItems } from './models.ts';
import { typicalCost } from './public/sold-models.ts';
import { route } from './route.ts';
import { WALLETS } from './wallet.ts';

/** What the public page of a model shows, for the console's: of all accounts together, no numbers of requests. */
export const figureRoutes = [
  route('GET /api/console/figures', {
    who: 'user',
    query: z.strictObject({
      endpoint: z.string().max(200),
      model: z.string().max(200),
      wallet: z.enum(WALLETS).optional(),
    }),
    async handle(parts, { query, user }) {
      const { store, clock } = parts;
      const current = await catalogSeenBy(parts, user, query.wallet);
      const offer = modelItems(current).find(
        ({ endpoint, model }) => endpoint === query.endpoint && model === query.model,
      );
      if (!offer) throw new Fault('not_found', 'There is no such model.');
      const { uptime, days, wait, speed } = await modelFigures(store.db, query, clock.now());
      return {
        /** The share of requests of 90 days that did not fail; null: there were none. */
        uptime: uptime ?? null,
        /** The oldest first, today last. */
        days: days.map((day) => ({ day: dayText(day.day), uptime: uptimeOf([day]) ?? null })),
        /** Milliseconds until the first token, or until an image is there; null: too few requests. */
        wait: shown(wait),
        /** Output tokens per second. */
        speed: shown(speed),
        typicalUsd: typicalCost(current, offer) ?? null,
      };
    },
  }),
];

function shown(quantiles: Quantiles | undefined) {
  return quantiles ? { p50: quantiles.p50, p95: quantiles.p95 } : null;
}
