import { formatCompact, formatCount, formatDuration } from '../lib/numbers.ts';
import { useTranslation } from '../lib/translation.tsx';

export function Count({ value }: { value: number }) {
  const { i18n } = useTranslation();
  return <span className="tabular-nums">{formatCount(value, i18n.language)}</span>;
}

export function Compact({ value }: { value: number }) {
  const { i18n } = useTranslation();
  return (
    <span className="tabular-nums" title={formatCount(value, i18n.language)}>
      {formatCompact(value, i18n.language)}
    </span>
  );
}

/** A dash when there is none: no data must not look like zero. */
export function Duration({ ms }: { ms: number | null }) {
  const { i18n } = useTranslation();
  if (ms === null) return <Nothing />;
  return <span className="whitespace-nowrap tabular-nums">{formatDuration(ms, i18n.language)}</span>;
}

export function Nothing() {
  const { t } = useTranslation();
  return (
    <span className="text-ink-3" role="img" aria-label={t('common.none')}>
      –
    </span>
  );
}
