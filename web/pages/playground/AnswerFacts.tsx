import type { PlaygroundReceipt } from '../../../src/console/contract.ts';
import { formatCount, formatDuration } from '../../lib/numbers.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Link } from '../../ui/Link.tsx';
import { Money } from '../../ui/Money.tsx';

/** What an answer cost and how fast it was, in one quiet line. */
export function AnswerFacts({ receipt }: { receipt: PlaygroundReceipt }) {
  const { t, i18n } = useTranslation();
  const count = (value: number): string => formatCount(value, i18n.language);
  const time = (ms: number): string => formatDuration(ms, i18n.language);
  return (
    <p className="flex flex-wrap gap-x-3 pl-1 text-sm text-ink-3 tabular-nums">
      <Money usd={receipt.costUsd} plain className="font-medium text-ink-2" />
      {receipt.images > 0 ? null : (
        <span>
          {t('playground.tokensLine', {
            input: count(receipt.inputTokens),
            output: count(receipt.outputTokens),
          })}
          {receipt.cachedTokens > 0 ? `, ${t('playground.cachedLine', { count: receipt.cachedTokens })}` : ''}
        </span>
      )}
      {receipt.firstByteMs === null ? null : (
        <span>{t('playground.firstByte', { time: time(receipt.firstByteMs) })}</span>
      )}
      {receipt.durationMs === null ? null : (
        <span>{t('playground.total', { time: time(receipt.durationMs) })}</span>
      )}
      <Link
        href={`/app/requests?id=${receipt.requestId}`}
        className="text-accent underline-offset-2 hover:underline"
      >
        {t('playground.receipt')}
      </Link>
    </p>
  );
}
