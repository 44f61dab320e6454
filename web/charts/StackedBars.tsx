import { useState, type KeyboardEvent } from 'react';
import { useTranslation } from 'react-i18next';
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
  /** `step`: the distance of two ticks. */
  readonly formatTick: (value: number, step: number) => string;
  readonly onOpen?: ((bar: Bar) => void) | undefined;
  readonly height?: number;
}

const MARGIN = { top: 10, right: 4, bottom: 22, left: 52 };
const CHARACTER_WIDTH = 7;

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
  /** Room for the longest of the texts. */
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
  readonly setActive: (index: number) => void;
}

function Drawing({ series, bars, axis, onOpen, height, width, active, setActive }: DrawingProps) {
  const { ticks, top, left } = axis;
  const plot = height - MARGIN.top - MARGIN.bottom;
  const y = (value: number): number => MARGIN.top + plot - (value / top) * plot;
  const slot = (width - left - MARGIN.right) / Math.max(bars.length, 1);
  const colours = new Map(series.map(({ id, colour }) => [id, `var(--chart-${colour})`]));
  const labelEvery = Math.max(1, Math.ceil(54 / slot));
  return (
    <svg width={width} height={height} aria-hidden className="block text-xs">
      {ticks.map(({ value, text }) => (
        <g key={value}>
          <line x1={left} x2={width} y1={y(value)} y2={y(value)} stroke="var(--c-line)" />
          <text x={left - 8} y={y(value) + 4} textAnchor="end" fill="var(--c-ink-3)" className="tabular-nums">
            {text}
          </text>
        </g>
      ))}
      {bars.map((bar, index) => {
        const x = left + index * slot;
        const thick = Math.max(1, Math.min(34, slot * 0.68));
        return (
          <g
            key={bar.id}
            onPointerMove={() => setActive(index)}
            onClick={() => onOpen?.(bar)}
            className={onOpen ? 'cursor-pointer' : ''}
          >
            <rect
              x={x}
              y={MARGIN.top}
              width={slot}
              height={plot}
              fill={index === active ? 'var(--c-hover)' : 'transparent'}
            />
            <Stack bar={bar} x={x + (slot - thick) / 2} thick={thick} y={y} colours={colours} />
            {(bars.length - 1 - index) % labelEvery === 0 ? (
              <text
                x={index === bars.length - 1 ? Math.min(x + slot / 2 + 20, width) : x + slot / 2}
                y={height - 5}
                // On narrow screens the last label would be clipped.
                textAnchor={index === bars.length - 1 ? 'end' : 'middle'}
                fill="var(--c-ink-3)"
              >
                {bar.label}
              </text>
            ) : null}
          </g>
        );
      })}
    </svg>
  );
}

interface StackProps {
  readonly bar: Bar;
  readonly x: number;
  readonly thick: number;
  readonly y: (value: number) => number;
  readonly colours: ReadonlyMap<string, string>;
}

function Stack({ bar, x, thick, y, colours }: StackProps) {
  let below = 0;
  return bar.parts.map((part) => {
    const base = below;
    below += part.value;
    const height = y(base) - y(below);
    // A hairline between the pieces separates neighbours for readers who cannot tell the colours apart.
    return height <= 0 ? null : (
      <rect
        key={part.series}
        x={x}
        y={y(below)}
        width={thick}
        height={Math.max(height - 0.75, 0.75)}
        fill={colours.get(part.series)}
      />
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
  const side = leftSide ? { right: width - left + 14 } : { left: left + 14 };
  return (
    <div
      aria-hidden
      className="pointer-events-none absolute top-2 z-10 w-max max-w-[70%] rounded-md border border-line bg-raised px-3 py-2 text-sm shadow-pop"
      style={side}
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

/** Which point or bar a key leads to. */
export function nextIndex(key: string, active: number | undefined, count: number): number | undefined {
  if (key === 'ArrowRight') return active === undefined ? 0 : Math.min(active + 1, count - 1);
  if (key === 'ArrowLeft') return active === undefined ? count - 1 : Math.max(active - 1, 0);
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  return undefined;
}
