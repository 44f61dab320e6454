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
