import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Plot {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly series: readonly { readonly name: string; readonly points: readonly Point[] }[];
  /** Tenfold steps take equal room. Zero is drawn at one. */
  readonly logarithmic?: boolean;
}

const WIDTH = 720;
const HEIGHT = 400;
const LEFT = 70;
const RIGHT = 20;
const TOP = 44;
const BOTTOM = 60;
const COLOURS = ['#1d4ed8', '#b45309', '#047857', '#9333ea'];
const Y_STEPS = 5;

/** Draws lines with their points into `bench/plots/NAME.svg`. The y axis begins at zero, so that flat looks flat. */
export function writePlot(name: string, plot: Plot): string {
  const folder = join(import.meta.dir, '../plots');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}.svg`);
  writeFileSync(path, drawPlot(plot));
  return path;
}

function drawPlot({ title, xLabel, yLabel, series, logarithmic = false }: Plot): string {
  const points = series.flatMap((one) => one.points);
  const scale = (value: number): number => (logarithmic ? Math.log10(Math.max(1, value)) : value);
  const xs = points.map(({ x }) => scale(x));
  const [least, most] = [Math.min(...xs), Math.max(...xs)];
  const top = niceTop(Math.max(...points.map(({ y }) => y)));
  const atX = (x: number): number =>
    LEFT + ((scale(x) - least) / (most - least || 1)) * (WIDTH - LEFT - RIGHT);
  const atY = (y: number): number => HEIGHT - BOTTOM - (y / top) * (HEIGHT - TOP - BOTTOM);
  const ticksX = logarithmic ? [...new Set(points.map(({ x }) => x))] : evenly(least, most);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">
<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
<text x="${LEFT}" y="22" font-size="15" font-weight="600">${escaped(title)}</text>
${evenly(0, top)
  .map((y) => gridLine(atY(y), y))
  .join('\n')}
${ticksX.map((x) => `<text x="${atX(x)}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle" fill="#444">${short(x)}</text>`).join('\n')}
<text x="${(WIDTH + LEFT) / 2}" y="${HEIGHT - 18}" text-anchor="middle" fill="#444">${escaped(xLabel)}</text>
<text transform="translate(18 ${HEIGHT / 2}) rotate(-90)" text-anchor="middle" fill="#444">${escaped(yLabel)}</text>
${series.map((one, index) => drawSeries(one, index, (point) => `${atX(point.x).toFixed(1)},${atY(point.y).toFixed(1)}`)).join('\n')}
</svg>
`;
}

function drawSeries(
  { name, points }: Plot['series'][number],
  index: number,
  at: (point: Point) => string,
): string {
  const colour = COLOURS[index % COLOURS.length] ?? '#000';
  const line = `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${points.map(at).join(' ')}"/>`;
  const dots = points.length > 40 ? '' : points.map((point) => dot(at(point), colour)).join('');
  const label = `<text x="${WIDTH - RIGHT}" y="${22 + index * 16}" text-anchor="end" fill="${colour}">${escaped(name)}</text>`;
  return `${line}${dots}${label}`;
}

function dot(at: string, colour: string): string {
  const [x = '', y = ''] = at.split(',');
  return `<circle cx="${x}" cy="${y}" r="3.5" fill="${colour}"/>`;
}

function gridLine(y: number, value: number): string {
  return `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y}" y2="${y}" stroke="#ddd"/><text x="${LEFT - 8}" y="${y + 4}" text-anchor="end" fill="#444">${short(value)}</text>`;
}

function evenly(from: number, to: number): number[] {
  return Array.from({ length: Y_STEPS + 1 }, (_, step) => from + ((to - from) * step) / Y_STEPS);
}

/** The next 1, 1.5, 2, 3, 5 or 8 times a power of ten. */
function niceTop(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 3, 5, 8, 10].find((step) => step * power >= value * 1.05) ?? 12) * power;
}

function short(value: number): string {
  if (value >= 1e6) return `${trimmed(value / 1e6)}M`;
  return value >= 10_000 ? `${trimmed(value / 1000)}k` : trimmed(value);
}

function trimmed(value: number): string {
  return value.toFixed(value < 10 ? 2 : 1).replace(/\.?0+$/, '');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
