import { useTranslation } from 'react-i18next';
import type { AdminAttempt, ReceiptAttempt } from '../../../src/console/contract.ts';
import { Dot, type Tone } from '../../ui/Badge.tsx';
import { Money } from '../../ui/Money.tsx';
import { Duration } from '../../ui/Numbers.tsx';

const TONES: Record<ReceiptAttempt['result'], Tone> = { served: 'good', failed: 'bad', skipped: 'neutral' };

/** Administrators also see what it cost. */
export type ShownAttempt = ReceiptAttempt & { readonly cost?: AdminAttempt['cost'] };

/** Which backends were tried, in order, and why the next one was needed. */
export function Attempts({ attempts }: { attempts: readonly ShownAttempt[] }) {
  const { t } = useTranslation();
  return (
    <section>
      <h3 className="mb-2 text-sm font-semibold">{t('receipt.attempts')}</h3>
      {attempts.length === 0 ? <p className="text-sm text-ink-3">{t('receipt.noAttempts')}</p> : null}
      <ol className="flex flex-col">
        {attempts.map((attempt, index) => (
          // The same backend may be tried twice: its place in the chain is its identity.
          // oxlint-disable-next-line react/no-array-index-key
          <li
            key={index}
            className="flex items-baseline gap-3 border-b border-line py-2 text-sm last:border-b-0"
          >
            <Dot tone={TONES[attempt.result]} label={t(`receipt.${attempt.result}`)} />
            <div className="min-w-0 flex-1">
              <span className="font-mono">{attempt.upstream}</span>{' '}
              <span className="text-ink-3">{t(`receipt.${attempt.result}`)}</span>
              {attempt.reason ? <p className="break-words text-ink-2">{attempt.reason}</p> : null}
              <AttemptCost cost={attempt.cost} />
            </div>
            <Duration ms={attempt.durationMs} />
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Absent for customers; `null` where it is not known. */
function AttemptCost({ cost }: { cost: ShownAttempt['cost'] }) {
  const { t } = useTranslation();
  if (cost === undefined) return null;
  return (
    <p className="text-ink-3">
      {t('receipt.cost')}:{' '}
      {cost === null ? (
        t('receipt.costUnknown')
      ) : (
        <>
          <Money usd={cost.usd} plain exact className="text-ink-2" /> {t(`receipt.costBasis.${cost.basis}`)}
        </>
      )}
    </p>
  );
}
