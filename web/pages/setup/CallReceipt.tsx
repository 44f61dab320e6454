import type { ReactNode } from 'react';
import type { PlaygroundReceipt } from '../../../src/console/contract.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { LedgerLine } from '../../ui/LedgerLine.tsx';
import { Money } from '../../ui/Money.tsx';
import { Count, Duration, Nothing } from '../../ui/Numbers.tsx';
import type { FirstCallRun } from './firstCall.ts';

/** What the call used, what was held for it, what it was charged, and what is left; empty until there is a call. */
export function CallReceipt({ call: { receipt, busy, firstTokenMs } }: { call: FirstCallRun }) {
  const { t } = useTranslation();
  const amount = (usd: string | null | undefined): ReactNode =>
    usd === null || usd === undefined ? <Waiting busy={busy} /> : <Money usd={usd} plain exact />;
  const firstMs = receipt?.firstByteMs ?? firstTokenMs;
  return (
    <section
      aria-label={t('setup.receipt')}
      aria-busy={busy}
      className="min-w-0 rounded-lg border border-line bg-surface p-4 sm:p-5 lg:sticky lg:top-6"
    >
      <div className="border-b border-dashed border-field pb-3">
        <h3 className="font-semibold">{t('setup.receipt')}</h3>
        <p className="min-h-4 min-w-0 font-mono text-xs break-all text-ink-3">
          {receipt ? receipt.requestId : busy ? t('firstRun.running') : t('firstRun.receiptEmpty')}
        </p>
      </div>
      <dl className="mt-3 flex flex-col gap-2 text-sm">
        <LedgerLine
          label={t('firstRun.firstToken')}
          value={firstMs === undefined ? <Waiting busy={busy} /> : <Duration ms={firstMs} />}
        />
        <LedgerLine
          label={t('firstRun.duration')}
          value={receipt ? <Duration ms={receipt.durationMs} /> : <Waiting busy={busy} />}
        />
        <Tokens receipt={receipt} busy={busy} />
        <LedgerLine label={t('setup.heldBefore')} value={amount(receipt?.heldUsd)} />
        <LedgerLine label={t('setup.charged')} value={amount(receipt?.costUsd)} className="font-semibold" />
        <LedgerLine
          label={t('setup.availableNow')}
          value={amount(receipt?.availableUsd)}
          className="border-t border-dashed border-field pt-3"
        />
      </dl>
    </section>
  );
}

function Tokens({ receipt, busy }: { receipt: PlaygroundReceipt | undefined; busy: boolean }) {
  const { t } = useTranslation();
  return (
    <>
      <LedgerLine
        label={t('setup.inputTokens')}
        value={receipt ? <Count value={receipt.inputTokens} /> : <Waiting busy={busy} />}
      />
      <LedgerLine
        label={t('setup.outputTokens')}
        value={receipt ? <Count value={receipt.outputTokens} /> : <Waiting busy={busy} />}
      />
    </>
  );
}

function Waiting({ busy }: { busy: boolean }) {
  return (
    <span className={busy ? 'animate-breathe' : undefined}>
      <Nothing />
    </span>
  );
}
