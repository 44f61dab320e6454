import { useEffect, useState } from 'react';
import type { PlaygroundQuote } from '../../../src/console/contract.ts';
import { call } from '../../lib/api.ts';
import { formatExactUsd } from '../../lib/money.ts';
import { useTranslation } from '../../lib/translation.tsx';

/** Long enough not to ask for every letter. */
const PAUSE_MS = 400;

interface MaxCostProps {
  /** The request as it would be sent; absent while there is nothing to send. */
  readonly body: { readonly endpoint: string; readonly model: string } | undefined;
}

/** What a request can cost at most, before it is sent. Says nothing where that cannot be known: sending tells why. */
export function MaxCost({ body }: MaxCostProps) {
  const { t, i18n } = useTranslation();
  const quote = useQuote(body);
  if (!quote) return null;
  const price = formatExactUsd(quote.maxCostUsd, i18n.language);
  return (
    <span role="status" className="text-sm text-ink-2 tabular-nums">
      {Number(quote.maxCostUsd) === 0 ? t('playground.atMostFree') : t('playground.atMost', { price })}
    </span>
  );
}

function useQuote(body: MaxCostProps['body']): PlaygroundQuote | undefined {
  const [known, setKnown] = useState<{ readonly text: string; readonly quote: PlaygroundQuote }>();
  // The body is made anew with each render, its text is not.
  const text = body && JSON.stringify(body);
  useEffect(() => {
    if (text === undefined) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      // The text was made from such a body above.
      const asked = JSON.parse(text) as NonNullable<MaxCostProps['body']>;
      call('POST /api/console/playground/quote', { body: asked, signal: abort.signal })
        .then((quote) => setKnown({ text, quote }))
        .catch(() => undefined);
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  // Not the one of what was written before.
  return known?.text === text ? known?.quote : undefined;
}
