import { useEffect, useState, type ReactNode } from 'react';
import { formatUsd, type AmountKind } from '../../lib/money.ts';
import { formatTime } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button, LinkButton } from '../../ui/Button.tsx';
import type { AnswerError } from './refusal.ts';

interface RefusalNoticeProps {
  readonly error: AnswerError;
  readonly onRetry?: (() => void) | undefined;
  /** Links that say more. */
  readonly children?: ReactNode;
}

/** Why there is no answer, and the one thing that helps: money, the end of a period, or some seconds. */
export function RefusalNotice({ error, onRetry, children }: RefusalNoticeProps) {
  const { t } = useTranslation();
  const seconds = useSecondsUntil(error.retryAt);
  const { missing, status } = error;
  const isRate = status === 429;
  return (
    <div role="alert" className="mt-2 rounded-md border border-bad-line bg-bad-soft px-4 py-2.5 text-bad">
      {missing ? <MissingMoney {...missing} isHeld={error.retryAt !== undefined} /> : null}
      {isRate ? <p className="font-medium">{t('refusal.tooMany')}</p> : null}
      {missing || isRate ? null : <p className="break-words">{error.message || t('errors.network')}</p>}
      <div className="mt-2 flex flex-wrap items-center gap-x-4 gap-y-2 empty:hidden">
        {missing && !missing.limit && error.retryAt === undefined ? (
          <LinkButton small href="/app/billing">
            {t('playground.topUp')}
          </LinkButton>
        ) : null}
        {error.retryAt === undefined ? null : (
          <>
            {onRetry ? (
              <Button small disabled={seconds > 0} onClick={onRetry}>
                {t('common.retry')}
              </Button>
            ) : null}
            {/* Not announced each second: the notice itself was, with the number it began with. */}
            <span aria-live="off" className="tabular-nums">
              {seconds > 0 ? t('refusal.seconds', { count: seconds }) : t('refusal.now')}
            </span>
          </>
        )}
        {children}
      </div>
    </div>
  );
}

type MissingProps = NonNullable<AnswerError['missing']> & { readonly isHeld: boolean };

function MissingMoney({ availableUsd, requiredUsd, limit, isHeld }: MissingProps) {
  const { t, i18n } = useTranslation();
  const usd = (amount: string, kind: AmountKind): string => formatUsd(amount, i18n.language, { kind });
  const title = isHeld ? t('refusal.held') : t('playground.outOfMoney');
  return (
    <>
      <p className="font-medium">{limit ? t(`refusal.limits.${limit.name}`) : title}</p>
      <p>
        {t('refusal.amounts', {
          available: usd(availableUsd, 'available'),
          required: usd(requiredUsd, 'charge'),
        })}
      </p>
      {limit?.resetsAt === undefined ? null : (
        <p>{t('refusal.resets', { time: formatTime(Date.parse(limit.resetsAt), i18n.language, 'full') })}</p>
      )}
    </>
  );
}

const SECOND_MS = 1_000;

/** Counts down to 0, and is 0 for a moment that is past or not given. */
function useSecondsUntil(at: number | undefined): number {
  const [now, setNow] = useState(Date.now);
  const left = Math.max(0, Math.ceil(((at ?? 0) - now) / SECOND_MS));
  const isOver = left === 0;
  useEffect(() => {
    if (isOver) return undefined;
    const timer = setInterval(() => setNow(Date.now()), SECOND_MS / 4);
    return () => clearInterval(timer);
  }, [isOver]);
  return left;
}
