import type { ReactNode } from 'react';
import TriangleAlert from 'lucide-react/icons/triangle-alert';
import type { Overview } from '../lib/answers.ts';
import { useApi } from '../lib/api.ts';
import { classes } from '../lib/classes.ts';
import { formatUsd } from '../lib/money.ts';
import { useTranslation } from '../lib/translation.tsx';
import { LinkButton } from '../ui/Button.tsx';

const FRESH_MS = 15_000;

/** What the owner must know first: no money, little money, an exposed token. */
export function Banner() {
  const { t, i18n } = useTranslation();
  const overview = useApi('GET /api/console/overview', undefined, { staleTime: FRESH_MS }).data;
  if (!overview) return null;
  const usd = (amount: string): string => formatUsd(amount, i18n.language);
  if (overview.token?.exposedAt) {
    return (
      <Strip
        tone="bad"
        action={
          <LinkButton small href="/app/key">
            {t('banner.replace')}
          </LinkButton>
        }
      >
        {t('banner.exposed')}
      </Strip>
    );
  }
  // Not an alarm: a new account starts empty, and its first steps say what to do.
  if (isNew(overview)) return null;
  if (isOut(overview)) {
    const { nextLimit } = overview;
    const limited = nextLimit?.kind === 'monthly_limit';
    return (
      <Strip
        tone="bad"
        gate
        action={
          <LinkButton small href="/app/billing">
            {t('banner.topUp')}
          </LinkButton>
        }
      >
        {limited
          ? t('banner.limitReached', { limit: usd(nextLimit.limitUsd ?? '0') })
          : nextLimit?.kind === 'budget'
            ? t('banner.budgetReached', { limit: usd(nextLimit.limitUsd ?? '0') })
            : t('banner.empty')}
      </Strip>
    );
  }
  if (overview.lowBalance) {
    return (
      <Strip
        tone="warn"
        action={
          <LinkButton small href="/app/billing">
            {t('banner.topUp')}
          </LinkButton>
        }
      >
        {t('banner.low', {
          left: formatUsd(overview.availableUsd, i18n.language, { kind: 'available' }),
          threshold: usd(overview.lowBalance.thresholdUsd),
        })}
      </Strip>
    );
  }
  return null;
}

function isOut(overview: Overview): boolean {
  return overview.nextLimit !== null && Number(overview.nextLimit.leftUsd) <= 0;
}

function isNew({ everFunded, nextLimit }: Overview): boolean {
  return !everFunded && nextLimit?.kind !== 'monthly_limit';
}

interface StripProps {
  readonly tone: 'warn' | 'bad';
  readonly children: ReactNode;
  readonly action: ReactNode;
  /** Drawn as a closed barrier: requests are refused. */
  readonly gate?: boolean;
}

function Strip({ tone, children, action, gate }: StripProps) {
  return (
    <div role="status" className={tone === 'bad' ? 'bg-bad-soft text-bad' : 'bg-warn-soft text-warn'}>
      {gate ? <div aria-hidden className="barrier h-1.5 opacity-70" /> : null}
      <div
        className={classes(
          'flex flex-wrap items-center gap-x-4 gap-y-2 border-b px-4 py-2.5 sm:px-8',
          tone === 'bad' ? 'border-bad-line' : 'border-warn-line',
        )}
      >
        <TriangleAlert size={16} aria-hidden className="shrink-0" />
        <p className="min-w-0 flex-1 basis-52 font-medium">{children}</p>
        {action}
      </div>
    </div>
  );
}
