import { useTranslation } from 'react-i18next';
import type { PlaygroundReceipt } from '../../../src/console/contract.ts';
import { LedgerLine } from '../../ui/LedgerLine.tsx';
import { Money } from '../../ui/Money.tsx';
import { Count } from '../../ui/Numbers.tsx';

/** What the call used, what was held for it, what it was charged, and what is left. */
export function CallReceipt({ receipt }: { receipt: PlaygroundReceipt }) {
  const { t } = useTranslation();
  return (
    <section aria-label={t('setup.receipt')} className="rounded-lg border border-line bg-surface p-4 sm:p-5">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4 border-b border-dashed border-field pb-3">
        <h2 className="font-semibold">{t('setup.receipt')}</h2>
        <p className="min-w-0 font-mono text-xs break-all text-ink-3">{receipt.requestId}</p>
      </div>
      <dl className="mt-3 flex flex-col gap-2 text-sm">
        <LedgerLine label={t('setup.inputTokens')} value={<Count value={receipt.inputTokens} />} />
        <LedgerLine label={t('setup.outputTokens')} value={<Count value={receipt.outputTokens} />} />
        <LedgerLine label={t('setup.heldBefore')} value={<Money usd={receipt.heldUsd} plain exact />} />
        <LedgerLine
          label={t('setup.charged')}
          value={<Money usd={receipt.costUsd} plain exact />}
          className="font-semibold"
        />
        {receipt.availableUsd === null ? null : (
          <LedgerLine
            label={t('setup.availableNow')}
            value={<Money usd={receipt.availableUsd} plain exact />}
            className="border-t border-dashed border-field pt-3"
          />
        )}
      </dl>
    </section>
  );
}
