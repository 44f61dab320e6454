import type { Markup } from './html.ts';
import type { PageContext } from './page-frame.ts';
import { countText } from './page-numbers.ts';
import { featureBadges, priceLines } from './page-parts.ts';
import type { SoldModel } from './sold-models.ts';

export const MOST_COMPARED = 4;

interface ComparedRow {
  readonly label: string;
  readonly values: readonly (Markup | string)[];
}

/** What models have in common and what not, each by its best offer. */
export function compareRows(context: PageContext, models: readonly SoldModel[]): ComparedRow[] {
  const { t, language } = context;
  const tokens = ({ best }: SoldModel, part: 'contextTokens' | 'maxOutput'): string =>
    best.type === 'image_generation' || best[part] === 0 ? '–' : t.tokens(countText(best[part], language));
  const prices = models.map(({ best }) => new Map(priceLines(best, context)));
  const labels = [...new Set(prices.flatMap((lines) => [...lines.keys()]))];
  return [
    { label: t.features, values: models.map(({ best }) => featureBadges(best, context)) },
    { label: t.context, values: models.map((model) => tokens(model, 'contextTokens')) },
    { label: t.maxOutput, values: models.map((model) => tokens(model, 'maxOutput')) },
    ...labels.map((label) => ({ label, values: prices.map((lines) => lines.get(label) ?? '–') })),
    {
      label: t.offeredBy,
      values: models.map(({ offers }) => offers.map(({ endpointName }) => endpointName).join(', ')),
    },
  ];
}
