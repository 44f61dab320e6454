/** A post and a raised, striped bar: the gate, open. */
export function Mark({ size = 22, className }: { size?: number; className?: string }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" fill="none" aria-hidden className={className}>
      <path d="M5.2 20V9.6" stroke="currentColor" strokeWidth="3.2" strokeLinecap="round" />
      <path
        d="M5.2 9.6 20.4 3.4"
        stroke="var(--c-accent)"
        strokeWidth="2.8"
        strokeLinecap="round"
        strokeDasharray="4.4 4.2"
      />
      <path d="M2 21.2h20" stroke="currentColor" strokeWidth="1.4" strokeLinecap="round" opacity=".35" />
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
