import { createContext, useContext } from 'react';
import type { Usd } from '../../src/console/contract.ts';
import { classes } from '../lib/classes.ts';
import {
  convert,
  formatExactUsd,
  formatUsd,
  shownPlaces,
  shownUsd,
  usdParts,
  type AmountKind,
} from '../lib/money.ts';
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
  /** A sum in a column that has single charges too. */
  readonly padded?: boolean;
}

/** The digits after the decimal mark of the longest amount in a column; shorter ones are padded to it. */
export const AlignedPlaces = createContext<number | undefined>(undefined);

/** An amount in the format of `formatUsd`, with the exact one on hover; digits beyond the cents are fainter. */
export function Money({ usd, kind = 'sum', sign = false, className, plain, exact, padded }: MoneyProps) {
  const { i18n } = useTranslation();
  const places = useContext(AlignedPlaces);
  const shown = exact ? usd : shownUsd(usd, kind);
  const { main, fine, tail } = usdParts(shown, i18n.language, sign);
  const tiny = /^[^1-9]*$/.test(main);
  // Sums end with their cents, and need no padding.
  const missing =
    places === undefined || (kind !== 'charge' && !exact && !padded)
      ? 0
      : Math.max(0, places - shownPlaces(shown));
  return (
    <span
      className={classes('whitespace-nowrap tabular-nums', className)}
      title={shown === usd ? undefined : formatExactUsd(usd, i18n.language, { sign })}
    >
      {main}
      {fine ? <span className={plain || tiny ? '' : 'text-ink-3'}>{fine}</span> : null}
      {tail}
      {missing > 0 ? (
        <span aria-hidden className="invisible select-none">
          {'0'.repeat(missing)}
        </span>
      ) : null}
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
