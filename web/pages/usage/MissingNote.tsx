import { useTranslation } from '../../lib/translation.tsx';

/** Requests that the sums by hour and client do not know. */
export function MissingNote({ missing }: { missing: number }) {
  const { t } = useTranslation();
  if (missing === 0) return null;
  return <p className="mt-3 max-w-[80ch] text-sm text-ink-3">{t('usage.missing', { count: missing })}</p>;
}
