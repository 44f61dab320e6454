import type { UsageReport, UsageSaved } from '../../../src/console/contract.ts';
import { addUsd, approximate, formatUsd } from '../../lib/money.ts';
import { formatCount, formatPercent } from '../../lib/numbers.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Card } from '../../ui/Card.tsx';
import { Money } from '../../ui/Money.tsx';
import { MissingNote } from './MissingNote.tsx';

/** What cached input cost less than plain input would have. */
export function CacheSavings({ usage: { totals, missing } }: { usage: UsageReport }) {
  const { t } = useTranslation();
  return (
    <Card title={t('usage.savings.title')}>
      {totals.cachedTokens === 0 ? (
        <p className="text-ink-2">{t('usage.savings.none')}</p>
      ) : (
        <>
          <Saved totals={totals} />
          <MissingNote missing={missing} />
        </>
      )}
    </Card>
  );
}

function Saved({ totals }: { totals: UsageSaved }) {
  const { t, i18n } = useTranslation();
  const { cachedTokens, inputTokens, savedUsd, chargedUsd } = totals;
  return (
    <>
      <p className="text-2xl font-semibold tracking-tight" data-testid="saved">
        <Money usd={savedUsd} />
      </p>
      <p className="mt-2 text-ink-2">
        {t('usage.savings.share', {
          cached: formatCount(cachedTokens, i18n.language),
          input: formatCount(inputTokens, i18n.language),
          share: formatPercent(cachedTokens / Math.max(inputTokens, 1), i18n.language),
        })}{' '}
        {approximate(savedUsd) === 0
          ? t('usage.savings.same')
          : t('usage.savings.without', {
              charged: formatUsd(chargedUsd, i18n.language),
              without: formatUsd(addUsd(chargedUsd, savedUsd), i18n.language),
            })}
      </p>
    </>
  );
}
