import type { AdminMarginSums } from '../../../../src/console/contract.ts';
import { Money } from '../../../ui/Money.tsx';

/** A cost that nobody has told is not zero. */
export function UnknownAmount({ label }: { label: string }) {
  return <span className="font-normal text-ink-3">{label}</span>;
}

interface MarginAmountProps {
  readonly sums: Pick<AdminMarginSums, 'marginUsd' | 'isLoss'>;
  readonly label: string;
}

export function MarginAmount({ sums: { marginUsd, isLoss }, label }: MarginAmountProps) {
  if (marginUsd === null) return <UnknownAmount label={label} />;
  return <Money usd={marginUsd} className={isLoss ? 'text-bad' : 'text-accent'} plain />;
}
