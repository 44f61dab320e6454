import { formatRelative, formatTime, utcText, type TimeStyle, useNow } from '../lib/time.ts';
import { useTranslation } from '../lib/translation.tsx';

/** Local time, with UTC on hover. */
export function Time({ at, style = 'short' }: { at: number; style?: TimeStyle | 'relative' }) {
  const { i18n } = useTranslation();
  const now = useNow();
  const text =
    style === 'relative' ? formatRelative(at, now, i18n.language) : formatTime(at, i18n.language, style);
  const local = style === 'relative' ? `${formatTime(at, i18n.language, 'full')} · ` : '';
  return (
    <time
      dateTime={new Date(at).toISOString()}
      title={`${local}${utcText(at)}`}
      className="whitespace-nowrap tabular-nums"
    >
      {text}
    </time>
  );
}
