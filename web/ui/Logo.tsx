/** A post and a raised, striped bar: the gate, open. */
export function Mark({ size = 24, className }: { size?: number; className?: string }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" fill="none" aria-hidden className={className}>
      <path d="M3.5 20.5V11a2 2 0 0 1 2-2h0a2 2 0 0 1 2 2v9.5z" fill="currentColor" />
      <path d="M4.6 9.2 21.6 3" stroke="currentColor" strokeWidth="3.3" />
      <path d="M8.6 7.75 21.6 3" stroke="var(--c-accent)" strokeWidth="3.3" strokeDasharray="3.46 3.46" />
      <path d="M1.5 21.2h21" stroke="currentColor" strokeWidth="1.4" strokeLinecap="round" opacity=".4" />
    </svg>
  );
}

export function Logo({ name = 'Tollgate' }: { name?: string | undefined }) {
  return (
    <span className="inline-flex items-center gap-2">
      <Mark />
      <span className="text-lg font-semibold tracking-tight">{name}</span>
    </span>
  );
}
