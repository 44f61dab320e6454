import { addUsd, formatExactUsd } from '../../../lib/money.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import type { ImageQuote } from './useImageQuote.ts';

interface GenerateButtonProps {
  readonly quotes: readonly ImageQuote[];
  /** Each image has a fixed price; otherwise a quote is only the most that they can cost. */
  readonly isExact: boolean;
  readonly isEdit?: boolean;
  readonly disabled: boolean;
  /** The reason of a refusal is already shown beside a field. */
  readonly isExplained?: boolean;
}

/** The price is on the button, so that it is known before the click. */
export function GenerateButton(props: GenerateButtonProps) {
  const { quotes, isExact, isEdit = false, disabled, isExplained = false } = props;
  const { t, i18n } = useTranslation();
  const refused = quotes.find((quote) => quote.kind === 'refused');
  const isWaiting = quotes.some(({ kind }) => kind === 'waiting');
  const isKnown = quotes.every(({ kind }) => kind === 'known');
  const total = quotes.reduce(
    (sum, quote) => (quote.kind === 'known' ? addUsd(sum, quote.maxCostUsd) : sum),
    '0.00',
  );
  const act = isEdit ? 'edit' : 'generate';
  const label = (): string => {
    if (!isKnown) return t(`studio.price.${act}`);
    if (Number(total) === 0) return t(`studio.price.${act}Free`);
    const price = formatExactUsd(total, i18n.language);
    return isExact ? t(`studio.price.${act}For`, { price }) : t(`studio.price.${act}AtMost`, { price });
  };
  return (
    <>
      {refused && !isExplained ? (
        <p role="alert" className="text-sm text-bad">
          {refused.message}
        </p>
      ) : null}
      <Button
        type="submit"
        kind="primary"
        className="tabular-nums"
        disabled={disabled || isWaiting || refused !== undefined}
      >
        {label()}
      </Button>
    </>
  );
}
