import { useState, type KeyboardEvent } from 'react';
import { useTranslation } from '../lib/translation.tsx';
import { signedTicks, useWidth } from './size.ts';
import { ChartTooltip, nextIndex, type Bar, type Series } from './StackedBars.tsx';

interface LinesProps {
  readonly label: string;
  readonly series: readonly Series[];
  /** A point without a value for a series leaves a gap in its line: unknown is not zero. */
  readonly points: readonly Bar[];
  /** `step` is the distance between two ticks. */
  readonly formatTick: (value: number, step: number) => string;
  readonly height?: number;
}

const MARGIN = { top: 10, right: 10, bottom: 22, left: 52 };
const CHARACTER_WIDTH = 7;
/** Lines differ by their dashes too, for readers who cannot tell the colours apart. */
const DASHES = ['', '6 3', '2 3'];

/** One line per series over days. Arrow keys or the pointer pick a day; its figures are read out. */
export function Lines({ label, series, points, formatTick, height = 220 }: LinesProps) {
  const { t } = useTranslation();
  const [ref, width] = useWidth<HTMLDivElement>();
  const [active, setActive] = useState<number>();
  const shown = active === undefined ? undefined : points[active];
  const scale = scaleOf(points, formatTick, { width, height });
  const move = (event: KeyboardEvent): void => {
    const next = nextIndex(event.key, active, points.length);
    if (next !== undefined) {
      event.preventDefault();
      setActive(next);
    } else if (event.key === 'Escape') setActive(undefined);
  };
  return (
    <div
      ref={ref}
      className="relative rounded-md"
      role="group"
      aria-label={`${label}. ${t('charts.keys')}`}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- arrow keys walk the days
      tabIndex={0}
      onKeyDown={move}
      onPointerMove={(event) =>
        setActive(scale.indexAt(event.clientX - event.currentTarget.getBoundingClientRect().left))
      }
      onPointerLeave={() => setActive(undefined)}
      onBlur={() => setActive(undefined)}
    >
      {width > 0 ? (
        <Drawing {...{ series, points, scale, width, height, active }} />
      ) : (
        <div style={{ height }} />
      )}
      {shown && active !== undefined ? (
        <ChartTooltip bar={shown} series={series} left={scale.x(active)} width={width} />
      ) : null}
      <p className="sr-only" role="status">
        {shown ? `${shown.longLabel}: ${textsOf(shown, series)}` : ''}
      </p>
    </div>
  );
}

function textsOf(point: Bar, series: readonly Series[]): string {
  const labels = new Map(series.map(({ id, label }) => [id, label]));
  return point.parts.map((part) => `${labels.get(part.series) ?? ''} ${part.text}`).join(', ');
}

interface Scale {
  readonly ticks: readonly { readonly value: number; readonly text: string }[];
  readonly left: number;
  x(index: number): number;
  y(value: number): number;
  indexAt(x: number): number;
}

function scaleOf(
  points: readonly Bar[],
  formatTick: LinesProps['formatTick'],
  { width, height }: { readonly width: number; readonly height: number },
): Scale {
  const values = points.flatMap((point) => point.parts.map(({ value }) => value));
  const ticks = signedTicks(Math.min(...values, 0), Math.max(...values, 0));
  const [bottom = 0, second = 1] = ticks;
  const top = ticks.at(-1) ?? 1;
  const texts = ticks.map((value) => ({ value, text: formatTick(value, second - bottom) }));
  const longest = Math.max(...texts.map(({ text }) => text.length));
  const left = Math.max(MARGIN.left, longest * CHARACTER_WIDTH + 10);
  const step = (width - left - MARGIN.right) / Math.max(points.length - 1, 1);
  const plot = height - MARGIN.top - MARGIN.bottom;
  return {
    ticks: texts,
    left,
    x: (index) => left + index * step,
    y: (value) => MARGIN.top + plot - ((value - bottom) / (top - bottom)) * plot,
    indexAt: (x) => Math.min(points.length - 1, Math.max(0, Math.round((x - left) / step))),
  };
}

interface DrawingProps extends Required<Pick<LinesProps, 'series' | 'points' | 'height'>> {
  readonly scale: Scale;
  readonly width: number;
  readonly active: number | undefined;
}

function Drawing({ series, points, scale, width, height, active }: DrawingProps) {
  const labelEvery = Math.max(1, Math.ceil((54 * points.length) / Math.max(width - scale.left, 1)));
  const last = points.length - 1;
  return (
    <svg width={width} height={height} aria-hidden className="block text-xs">
      {scale.ticks.map(({ value, text }) => (
        <g key={value}>
          <line
            x1={scale.left}
            x2={width}
            y1={scale.y(value)}
            y2={scale.y(value)}
            stroke={value === 0 ? 'var(--c-field)' : 'var(--c-line)'}
          />
          <text
            x={scale.left - 8}
            y={scale.y(value) + 4}
            textAnchor="end"
            fill="var(--c-ink-3)"
            className="tabular-nums"
          >
            {text}
          </text>
        </g>
      ))}
      {active === undefined ? null : (
        <line
          x1={scale.x(active)}
          x2={scale.x(active)}
          y1={MARGIN.top}
          y2={height - MARGIN.bottom}
          stroke="var(--c-field)"
        />
      )}
      {series.map((item, index) => (
        <Line key={item.id} item={item} points={points} scale={scale} dash={DASHES[index] ?? ''} />
      ))}
      {points.map((point, index) =>
        (last - index) % labelEvery === 0 ? (
          <text
            key={point.id}
            x={index === last ? width : scale.x(index)}
            y={height - 5}
            // On narrow screens the last label would be clipped.
            textAnchor={index === last ? 'end' : 'middle'}
            fill="var(--c-ink-3)"
          >
            {point.label}
          </text>
        ) : null,
      )}
    </svg>
  );
}

interface LineProps {
  readonly item: Series;
  readonly points: readonly Bar[];
  readonly scale: Scale;
  readonly dash: string;
}

function Line({ item, points, scale, dash }: LineProps) {
  return (
    <path
      d={pathOf(item, points, scale)}
      fill="none"
      stroke={`var(--chart-${item.colour})`}
      strokeWidth="2"
      strokeLinejoin="round"
      strokeLinecap="round"
      strokeDasharray={dash}
    />
  );
}

function pathOf({ id }: Series, points: readonly Bar[], scale: Scale): string {
  const values = points.map(({ parts }) => parts.find(({ series }) => series === id)?.value);
  return values
    .map((value, index) =>
      value === undefined
        ? ''
        : `${values[index - 1] === undefined ? 'M' : 'L'}${scale.x(index).toFixed(1)},${scale.y(value).toFixed(1)}`,
    )
    .join('');
}
