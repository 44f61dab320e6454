import { useWidth } from './size.ts';

interface SparklineProps {
  readonly values: readonly number[];
  /** The text alternative of the line; the drawing itself is not read out. */
  readonly label: string;
  readonly height?: number;
}

/** A small filled line: the shape of the last days beside a figure. */
export function Sparkline({ values, label, height = 40 }: SparklineProps) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const top = Math.max(...values, 0) || 1;
  const step = width / Math.max(values.length - 1, 1);
  const points = values.map(
    (value, index) =>
      `${(index * step).toFixed(1)},${(height - 2 - (value / top) * (height - 4)).toFixed(1)}`,
  );
  return (
    <div ref={ref} role="img" aria-label={label} style={{ height }}>
      {width > 0 && points.length > 1 ? (
        <svg width={width} height={height} aria-hidden className="block">
          <polygon
            points={`0,${height} ${points.join(' ')} ${width},${height}`}
            fill="var(--c-accent-soft)"
          />
          <polyline
            points={points.join(' ')}
            fill="none"
            stroke="var(--c-accent)"
            strokeWidth="1.5"
            strokeLinejoin="round"
          />
        </svg>
      ) : null}
    </div>
  );
}

interface BalanceLineProps {
  readonly values: readonly number[];
  /** Days until the balance is used up; undefined if not known. */
  readonly daysLeft: number | undefined;
  /** The text alternative; the drawing itself is not read out. */
  readonly label: string;
}

const HEIGHT = 64;
/** The forecast takes at most this share of the width, so that the past days stay legible. */
const MOST_AHEAD = 0.4;

/** The balance of the last days as a line, with a dashed forecast. */
export function BalanceLine({ values, daysLeft, label }: BalanceLineProps) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const top = Math.max(...values, 0) || 1;
  const past = Math.max(values.length - 1, 1);
  const ahead = daysLeft === undefined ? 0 : Math.min(daysLeft, (past * MOST_AHEAD) / (1 - MOST_AHEAD));
  const step = width / (past + ahead);
  const y = (value: number): number => HEIGHT - 3 - (value / top) * (HEIGHT - 6);
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${y(value).toFixed(1)}`);
  const last = values.at(-1) ?? 0;
  const now = past * step;
  const end = daysLeft === undefined || daysLeft === 0 ? 0 : last * (1 - ahead / daysLeft);
  return (
    <div ref={ref} role="img" aria-label={label} style={{ height: HEIGHT }}>
      {width > 0 && points.length > 1 ? (
        <svg width={width} height={HEIGHT} aria-hidden className="block">
          <polygon points={`0,${HEIGHT} ${points.join(' ')} ${now},${HEIGHT}`} fill="var(--c-accent-soft)" />
          <polyline
            points={points.join(' ')}
            fill="none"
            stroke="var(--c-accent)"
            strokeWidth="1.5"
            strokeLinejoin="round"
          />
          {ahead > 0 ? (
            <line
              x1={now}
              y1={y(last)}
              x2={now + ahead * step}
              y2={y(end)}
              stroke="var(--c-accent)"
              strokeWidth="1.5"
              strokeDasharray="3 3"
            />
          ) : null}
          <circle cx={Math.min(now, width - 3)} cy={y(last)} r="3" fill="var(--c-accent)" />
        </svg>
      ) : null}
    </div>
  );
}
