import { formatRelative, formatTime, utcText, type TimeStyle, useNow } from '../lib/time.ts';
import { useTranslation } from '../lib/translation.tsx';

interface TimeProps {
  readonly at: number;
  readonly style?: TimeStyle | 'relative';
}

/** Local time, with UTC on hover. */
export function Time({ at, style = 'short' }: TimeProps) {
  const { i18n } = useTranslation();
  return style === 'relative' ? (
    <TimeAgo at={at} />
  ) : (
    <Moment at={at} title={utcText(at)}>
      {formatTime(at, i18n.language, style)}
    </Moment>
  );
}

/** Only this one follows the clock: a table has a hundred moments that stay as they are. */
function TimeAgo({ at }: { at: number }) {
  const { i18n } = useTranslation();
  const now = useNow();
  return (
    <Moment at={at} title={`${formatTime(at, i18n.language, 'full')} · ${utcText(at)}`}>
      {formatRelative(at, now, i18n.language)}
    </Moment>
  );
}

function Moment({ at, title, children }: { at: number; title: string; children: string }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={title} className="whitespace-nowrap tabular-nums">
      {children}
    </time>
  );
}
