import type { ModelItem, EndpointItem } from '../../lib/answers.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Price } from '../../ui/Money.tsx';
import { Nothing } from '../../ui/Numbers.tsx';
import type { Tone } from '../../ui/Badge.tsx';

/** One cell of a price list. A free model says so; a price that a model does not have is a dash, not zero. */
export function ModelPriceCell({ model, part }: { model: ModelItem; part: 'input' | 'cached' | 'output' }) {
  const { t } = useTranslation();
  if (model.free)
    return part === 'input' ? <span className="text-accent">{t('common.free')}</span> : <Nothing />;
  if (model.price.kind === 'images') return part === 'output' ? <ImagePrice model={model} /> : <Nothing />;
  if (part === 'input') return <Price usd={model.price.inputUsd} />;
  if (part === 'cached') return <Price usd={model.price.cachedInputUsd} />;
  // Vectors have no price of their own.
  if (model.type === 'embedding') return <Nothing />;
  return <Price usd={model.price.outputUsd} />;
}

function ImagePrice({ model }: { model: ModelItem }) {
  const { t } = useTranslation();
  if (model.price.kind !== 'images') return null;
  const prices = [...new Set(model.price.bySize.map((entry) => entry.imageUsd))].sort(
    (a, b) => Number(a) - Number(b),
  );
  const [lowest] = prices;
  const highest = prices.at(-1);
  if (!lowest || !highest) return <Nothing />;
  return (
    <span className="whitespace-nowrap">
      <Price usd={lowest} />
      {highest === lowest ? null : (
        <>
          –<Price usd={highest} />
        </>
      )}{' '}
      <span className="text-ink-3">{t('models.perImage')}</span>
    </span>
  );
}

export const STATUS_TONES: Record<EndpointItem['status'], Tone> = {
  up: 'good',
  degraded: 'warn',
  down: 'bad',
};
