import type { ReactNode } from 'react';
import { classes } from '../lib/classes.ts';

export type Tone = 'neutral' | 'good' | 'warn' | 'bad';

export function Badge({
  tone = 'neutral',
  children,
  mono,
}: {
  tone?: Tone;
  children: ReactNode;
  mono?: boolean;
}) {
  return (
    <span
      className={classes(
        'inline-flex h-5.5 items-center gap-1.5 rounded-sm px-1.5 text-xs font-medium whitespace-nowrap',
        mono && 'font-mono font-normal',
        TONES[tone],
      )}
    >
      {children}
    </span>
  );
}

/** State is shown by shape as well as colour: a ring is waiting, a disc is good, a bar across is bad. */
export function Dot({ tone, label, pulse }: { tone: Tone; label: string; pulse?: boolean }) {
  return (
    <span
      role="img"
      aria-label={label}
      title={label}
      className="inline-grid size-3 shrink-0 place-items-center"
    >
      <span className={classes('block', DOTS[tone], pulse && 'animate-breathe')} />
    </span>
  );
}

const TONES: Record<Tone, string> = {
  neutral: 'bg-hover text-ink-2',
  good: 'bg-accent-soft text-accent',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
};

const DOTS: Record<Tone, string> = {
  neutral: 'size-2 rounded-full border-2 border-ink-3',
  good: 'size-2 rounded-full bg-accent',
  warn: 'size-2.5 rotate-45 rounded-[1px] bg-warn',
  bad: 'h-1 w-3 rounded-[1px] bg-bad',
};
