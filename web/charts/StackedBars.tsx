import { memo, useState, type KeyboardEvent, type MouseEvent } from 'react';
import { classes } from '../lib/classes.ts';
import { useTranslation } from '../lib/translation.tsx';
import { axisTicks, useWidth } from './size.ts';

export interface Series {
  readonly id: string;
  readonly label: string;
  /** 1 to 8, a colour of the chart palette. */
  readonly colour: number;
}

export interface Bar {
  readonly id: string;
  readonly label: string;
  readonly longLabel: string;
  readonly total: string;
  readonly parts: readonly { readonly series: string; readonly value: number; readonly text: string }[];
}

interface StackedBarsProps {
  readonly label: string;
  readonly series: readonly Series[];
  readonly bars: readonly Bar[];
  /** `step` is the distance between two ticks. */
  readonly formatTick: (value: number, step: number) => string;
  readonly onOpen?: ((bar: Bar) => void) | undefined;
  readonly height?: number;
}

const MARGIN = { top: 10, right: 4, bottom: 22, left: 52 };
const CHARACTER_WIDTH = 7;
const NARROW = 480;

/** One bar per day, one colour per series. Arrow keys or the pointer pick a day; its figures are read out. */
export function StackedBars({ label, series, bars, formatTick, onOpen, height = 220 }: StackedBarsProps) {
  const { t } = useTranslation();
  const [ref, width] = useWidth<HTMLDivElement>();
  const [active, setActive] = useState<number>();
  const shown = active === undefined ? undefined : bars[active];
  const axis = axisOf(bars, formatTick);
  const move = (event: KeyboardEvent): void => {
    const next = nextIndex(event.key, active, bars.length);
    if (next !== undefined) {
      event.preventDefault();
      setActive(next);
    } else if (event.key === 'Enter' && shown) onOpen?.(shown);
    else if (event.key === 'Escape') setActive(undefined);
  };
  return (
    <div
      ref={ref}
      className="relative rounded-md"
      role="group"
      aria-label={`${label}. ${t('charts.keys')}`}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- arrow keys walk the bars
      tabIndex={0}
      onKeyDown={move}
      onPointerLeave={() => setActive(undefined)}
      onBlur={() => setActive(undefined)}
    >
      {width > 0 ? (
        <Drawing {...{ series, bars, axis, onOpen, height, width, active, setActive }} />
      ) : (
        <div style={{ height }} />
      )}
      {shown && active !== undefined ? (
        <ChartTooltip
          bar={shown}
          series={series}
          left={barCentre(active, bars.length, axis.left, width)}
          width={width}
        />
      ) : null}
      <p className="sr-only" role="status">
        {shown ? `${shown.longLabel}: ${shown.total}` : ''}
      </p>
    </div>
  );
}

interface Axis {
  readonly ticks: readonly { readonly value: number; readonly text: string }[];
  readonly top: number;
  /** Room for the longest tick label. */
  readonly left: number;
}

function axisOf(bars: readonly Bar[], formatTick: StackedBarsProps['formatTick']): Axis {
  const sums = bars.map((bar) => bar.parts.reduce((sum, part) => sum + part.value, 0));
  const values = axisTicks(Math.max(...sums, 0));
  const step = values[1] ?? 1;
  const ticks = values.map((value) => ({ value, text: formatTick(value, step) }));
  const longest = Math.max(...ticks.map(({ text }) => text.length));
  return { ticks, top: values.at(-1) ?? 1, left: Math.max(MARGIN.left, longest * CHARACTER_WIDTH + 10) };
}

interface DrawingProps extends Required<Pick<StackedBarsProps, 'series' | 'bars' | 'height'>> {
  readonly axis: Axis;
  readonly onOpen: StackedBarsProps['onOpen'];
  readonly width: number;
  readonly active: number | undefined;
  readonly setActive: (index: number | undefined) => void;
}

function Drawing({ series, bars, axis, onOpen, height, width, active, setActive }: DrawingProps) {
  const { ticks, top, left } = axis;
  const plot = height - MARGIN.top - MARGIN.bottom;
  const y = (value: number): number => MARGIN.top + plot - (value / top) * plot;
  const slot = (width - left - MARGIN.right) / Math.max(bars.length, 1);
  const barAt = (event: MouseEvent<SVGSVGElement>): number | undefined => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left;
    const index = Math.floor((x - left) / slot);
    return bars[index] && index;
  };
  const open = (event: MouseEvent<SVGSVGElement>): void => {
    const bar = bars[barAt(event) ?? -1];
    if (bar) onOpen?.(bar);
  };
  return (
    <svg
      width={width}
      height={height}
      aria-hidden
      className={classes('block text-xs', onOpen && active !== undefined && 'cursor-pointer')}
      onPointerMove={(event) => setActive(barAt(event))}
      onClick={open}
    >
      {ticks.map(({ value, text }) => (
        <g key={value}>
          <line x1={left} x2={width} y1={y(value)} y2={y(value)} stroke="var(--c-line)" />
          <text x={left - 8} y={y(value) + 4} textAnchor="end" fill="var(--c-ink-3)" className="tabular-nums">
            {text}
          </text>
        </g>
      ))}
      {active === undefined ? null : (
        <rect x={left + active * slot} y={MARGIN.top} width={slot} height={plot} fill="var(--c-hover)" />
      )}
      <Stacks {...{ series, bars, top, left, slot, plot }} />
      <DayLabels {...{ bars, left, slot, width, height }} />
    </svg>
  );
}

interface StacksProps extends Pick<DrawingProps, 'series' | 'bars'> {
  readonly top: number;
  readonly left: number;
  readonly slot: number;
  readonly plot: number;
}

/** One path per series: few elements, however many days there are. */
const Stacks = memo(function Stacks({ series, bars, top, left, slot, plot }: StacksProps) {
  const thick = Math.max(1, Math.min(34, slot * 0.68));
  const y = (value: number): number => MARGIN.top + plot - (value / top) * plot;
  const paths = new Map<string, string>();
  for (const [index, bar] of bars.entries()) {
    const x = left + index * slot + (slot - thick) / 2;
    let sum = 0;
    for (const part of bar.parts) {
      const base = y(sum);
      sum += part.value;
      const height = base - y(sum);
      if (height <= 0) continue;
      // A hairline between the pieces separates neighbours for readers who cannot tell the colours apart.
      const piece = `M${px(x)} ${px(y(sum))}h${px(thick)}v${px(Math.max(height - 0.75, 0.75))}h${px(-thick)}z`;
      paths.set(part.series, (paths.get(part.series) ?? '') + piece);
    }
  }
  return series.map(({ id, colour }) => <path key={id} d={paths.get(id)} fill={`var(--chart-${colour})`} />);
});

function px(value: number): number {
  return Math.round(value * 100) / 100;
}

function DayLabels({
  bars,
  left,
  slot,
  width,
  height,
}: Pick<DrawingProps, 'bars' | 'width' | 'height'> & Pick<StacksProps, 'left' | 'slot'>) {
  const labelEvery = Math.max(1, Math.ceil(54 / slot));
  return bars.map((bar, index) => {
    if ((bars.length - 1 - index) % labelEvery > 0) return null;
    const [isLast, middle] = [index === bars.length - 1, left + (index + 0.5) * slot];
    return (
      <text
        key={bar.id}
        x={isLast ? Math.min(middle + 20, width) : middle}
        y={height - 5}
        // On narrow screens the last label would be clipped.
        textAnchor={isLast ? 'end' : 'middle'}
        fill="var(--c-ink-3)"
      >
        {bar.label}
      </text>
    );
  });
}

export function ChartTooltip({
  bar,
  series,
  left,
  width,
}: {
  bar: Bar;
  series: readonly Series[];
  left: number;
  width: number;
}) {
  const byId = new Map(series.map((item) => [item.id, item]));
  const leftSide = left > width / 2;
  const beside = leftSide ? { right: width - left + 14, top: 8 } : { left: left + 14, top: 8 };
  return (
    <div
      aria-hidden
      className="pointer-events-none absolute z-10 w-max max-w-full rounded-md border border-line bg-raised px-3 py-2 text-sm shadow-pop"
      // A narrow screen has no room for it beside the bar.
      style={width < NARROW ? { left: 0, top: '100%' } : beside}
    >
      <div className="mb-1 flex justify-between gap-6 font-medium">
        <span>{bar.longLabel}</span>
        <span className="tabular-nums">{bar.total}</span>
      </div>
      {bar.parts.toReversed().map((part) => (
        <div key={part.series} className="flex items-center gap-2 text-ink-2">
          <Swatch colour={byId.get(part.series)?.colour ?? 8} />
          <span className="min-w-0 flex-1 truncate">{byId.get(part.series)?.label ?? part.series}</span>
          <span className="pl-4 tabular-nums">{part.text}</span>
        </div>
      ))}
    </div>
  );
}

export function Swatch({ colour }: { colour: number }) {
  return (
    <span
      aria-hidden
      className="inline-block size-2.5 shrink-0 rounded-[2px]"
      style={{ background: `var(--chart-${colour})` }}
    />
  );
}

function barCentre(index: number, count: number, left: number, width: number): number {
  return left + ((index + 0.5) * (width - left - MARGIN.right)) / Math.max(count, 1);
}

/** The point or bar that a key moves to. */
export function nextIndex(key: string, active: number | undefined, count: number): number | undefined {
  if (key === 'ArrowRight') return active === undefined ? 0 : Math.min(active + 1, count - 1);
  if (key === 'ArrowLeft') return active === undefined ? count - 1 : Math.max(active - 1, 0);
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  return undefined;
}
