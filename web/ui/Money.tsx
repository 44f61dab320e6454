import type { Usd } from '../../src/console/contract.ts';
import { classes } from '../lib/classes.ts';
import { convert, formatExactUsd, formatUsd, shownUsd, usdParts, type AmountKind } from '../lib/money.ts';
import { useSite } from '../lib/session.ts';
import { useTranslation } from '../lib/translation.tsx';

interface MoneyProps {
  readonly usd: Usd;
  readonly kind?: AmountKind;
  readonly sign?: boolean;
  readonly className?: string;
  /** Shows every digit at the same strength, for when the small ones matter. */
  readonly plain?: boolean;
  /** Not rounded: on receipts, where lines add up, and for what may not be exceeded. */
  readonly exact?: boolean;
}

/** An amount in the format of `formatUsd`, with the exact one on hover; digits beyond the cents are fainter. */
export function Money({ usd, kind = 'sum', sign = false, className, plain, exact }: MoneyProps) {
  const { i18n } = useTranslation();
  const shown = exact ? usd : shownUsd(usd, kind);
  const { main, fine, tail } = usdParts(shown, i18n.language, sign);
  const tiny = /^[^1-9]*$/.test(main);
  return (
    <span
      className={classes('whitespace-nowrap tabular-nums', className)}
      title={shown === usd ? undefined : formatExactUsd(usd, i18n.language, { sign })}
    >
      {plain || tiny || !fine ? (
        `${main}${fine}${tail}`
      ) : (
        <>
          {main}
          <span className="text-ink-3">{fine}</span>
          {tail}
        </>
      )}
    </span>
  );
}

/** The same amount in the operator's display currency, where that is not the dollar. */
export function Converted({ usd, kind = 'sum' }: Pick<MoneyProps, 'usd' | 'kind'>) {
  const { i18n } = useTranslation();
  const currency = useSite()?.currency;
  if (!currency || currency.code === 'USD') return null;
  const amount = formatUsd(convert(usd, currency.perUsd), i18n.language, { kind, currency: currency.code });
  return <span className="text-ink-3 tabular-nums">≈ {amount}</span>;
}

/** A price per million tokens or per image. */
export function Price({ usd }: { usd: Usd }) {
  return <Money usd={usd} plain exact />;
}
