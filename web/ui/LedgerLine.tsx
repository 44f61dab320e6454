import type { ReactNode } from 'react';
import { classes } from '../lib/classes.ts';

interface LedgerLineProps {
  readonly label: ReactNode;
  readonly value: ReactNode;
  /** A second, quieter line under the label. */
  readonly note?: ReactNode;
  readonly className?: string;
}

/** Label …………… amount. Goes directly into a `<dl>`. */
export function LedgerLine({ label, value, note, className }: LedgerLineProps) {
  return (
    <div className={classes('flex flex-wrap items-baseline gap-x-2', className)}>
      <dt className="leader flex min-w-0 flex-1 items-baseline gap-2">{label}</dt>
      <dd>{value}</dd>
      {note ? <dd className="basis-full text-sm text-ink-3">{note}</dd> : null}
    </div>
  );
}
