import { useTranslation } from 'react-i18next';
import type { Usd } from '../../src/console/contract.ts';
import { classes } from '../lib/classes.ts';
import { convert, formatUsd, usdParts } from '../lib/money.ts';
import { useSite } from '../lib/session.ts';

interface MoneyProps {
  readonly usd: Usd;
  readonly sign?: boolean;
  readonly className?: string;
  /** Shows every digit at the same strength, for when the small ones matter. */
  readonly plain?: boolean;
  /** Rounds for a summary; the exact amount is in the tooltip. */
  readonly digits?: number;
}

/** An exact amount: cents as usual, what lies beyond them quieter, digits aligned. */
export function Money({ usd, sign = false, className, plain, digits }: MoneyProps) {
  const { i18n } = useTranslation();
  if (digits !== undefined) {
    return (
      <span
        className={classes('whitespace-nowrap tabular-nums', className)}
        title={formatUsd(usd, i18n.language)}
      >
        {formatUsd(usd, i18n.language, { digits })}
      </span>
    );
  }
  const { main, fine, tail } = usdParts(usd, i18n.language, sign);
  const tiny = /^[^1-9]*$/.test(main);
  return (
    <span className={classes('whitespace-nowrap tabular-nums', className)}>
      {main}
      {fine ? <span className={plain || tiny ? '' : 'text-ink-3'}>{fine}</span> : null}
      {tail}
    </span>
  );
}

/** The same amount in the operator's display currency, where that is not the dollar. */
export function Converted({ usd }: { usd: Usd }) {
  const { i18n } = useTranslation();
  const currency = useSite()?.currency;
  if (!currency || currency.code === 'USD') return null;
  const amount = formatUsd(convert(usd, currency.perUsd), i18n.language, {
    currency: currency.code,
    digits: 2,
  });
  return <span className="text-ink-3 tabular-nums">≈ {amount}</span>;
}

/** A price per million tokens or per image. */
export function Price({ usd }: { usd: Usd }) {
  return <Money usd={usd} plain />;
}
