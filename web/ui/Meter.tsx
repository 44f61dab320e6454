import { classes } from '../lib/classes.ts';

/** How much of a limit is used. Fills towards the warning colours as it nears the end. */
export function Meter({ share, label }: { share: number; label: string }) {
  const bounded = Math.max(0, Math.min(1, share));
  const percent = Math.round(bounded * 100);
  return (
    <div
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      className="h-1.5 overflow-hidden rounded-full bg-hover"
    >
      <div
        className={classes(
          'h-full rounded-full',
          bounded >= 1 ? 'bg-bad' : bounded >= 0.8 ? 'bg-warn' : 'bg-accent',
        )}
        style={{ width: `${percent}%` }}
      />
    </div>
  );
}
