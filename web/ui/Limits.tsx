import { classes } from '../lib/classes.ts';
import type { Overview } from '../lib/answers.ts';
import { formatUsd } from '../lib/money.ts';
import { formatDate, useNow } from '../lib/time.ts';
import { useTranslation } from '../lib/translation.tsx';

/** How much of a limit is used. Fills towards the warning colours as it nears the end. */
export function Meter({ share, label }: { share: number; label: string }) {
  const bounded = Math.max(0, Math.min(1, share));
  const percent = Math.round(bounded * 100);
  return (
    <div
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      className="h-1.5 overflow-hidden rounded-full bg-hover"
    >
      <div
        className={classes(
          'h-full rounded-full',
          bounded >= 1 ? 'bg-bad' : bounded >= 0.8 ? 'bg-warn' : 'bg-accent',
        )}
        style={{ width: `${percent}%` }}
      />
    </div>
  );
}

/** Which limit stops requests first, and when. */
export function NextLimitLine({
  limit,
  isDated = true,
}: {
  limit: NonNullable<Overview['nextLimit']>;
  /** Not where the same date is said beside it. */
  isDated?: boolean;
}) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  const { kind, per, leftUsd, limitUsd, reachedAt } = limit;
  const usd = (amount: string): string => formatUsd(amount, i18n.language);
  const what =
    kind === 'budget'
      ? t(`nextLimit.budget.${per ?? 'total'}`, { limit: usd(limitUsd ?? '0') })
      : t(`nextLimit.${kind}`, { limit: usd(limitUsd ?? '0') });
  // What is empty was reached at the server's time, which may be a moment ahead of the browser's.
  const isAhead = reachedAt !== null && reachedAt > now && Number(leftUsd) > 0;
  const when = isDated && isAhead ? formatDate(reachedAt, now, i18n.language) : undefined;
  const left = formatUsd(leftUsd, i18n.language, { kind: 'available' });
  return (
    <p className="text-sm">
      <span className="text-ink-3">{t('nextLimit.label')}: </span>
      {t('nextLimit.left', { what, left })}
      {when === undefined ? null : t('nextLimit.reached', { when })}
    </p>
  );
}
