/** The idea of the place in a few lines: a gate that opens, and the small exact sums that pass under it. */
export function GateFigure() {
  return (
    <svg
      viewBox="0 0 460 330"
      fill="none"
      aria-hidden
      className="hidden w-full max-w-[30rem] text-ink lg:block"
    >
      <path d="M0 292h460" stroke="var(--c-line)" strokeWidth="1.5" />
      <path d="M40 310h150M230 310h120M390 310h40" stroke="var(--c-line)" strokeWidth="1.5" />
      <g fontFamily="var(--font-mono)" fontSize="13" fill="var(--c-ink-3)">
        {PASSING.map(({ text, x, y, opacity }) => (
          <text key={text} x={x} y={y} opacity={opacity}>
            {text}
          </text>
        ))}
      </g>
      <path d="M330 292V170a20 20 0 0 1 20-20h0a20 20 0 0 1 20 20v122z" fill="currentColor" />
      <path d="M362 168 58 57" stroke="currentColor" strokeWidth="22" />
      <path d="M318 152 58 57" stroke="var(--c-accent)" strokeWidth="22" strokeDasharray="34.6 34.6" />
      <circle cx="350" cy="164" r="9" fill="var(--c-page)" />
      <circle cx="350" cy="228" r="7" fill="var(--c-accent)" />
      <path d="M318 292h64" stroke="currentColor" strokeWidth="10" />
    </svg>
  );
}

const PASSING = [
  { text: '$0.0001204', x: 24, y: 272, opacity: 1 },
  { text: '$0.01', x: 150, y: 246, opacity: 0.8 },
  { text: '$0.000042', x: 212, y: 275, opacity: 0.9 },
  { text: '$0.0015', x: 84, y: 218, opacity: 0.55 },
  { text: '$0.000000009', x: 196, y: 214, opacity: 0.4 },
] as const;
