import type { Contender } from '../contenders/contender.ts';
import type { LoadTools } from '../harness/measure.ts';
import { writePlot } from '../harness/plot.ts';
import { table } from '../harness/table.ts';
import type { Cost } from './cost.ts';

export interface ScaleContext {
  readonly backend: string;
  readonly folder: string;
  readonly forwarder: Contender;
  readonly tools: LoadTools;
}

/** How the cost of a request moves with a size. */
export interface Curve {
  readonly name: string;
  readonly title: string;
  readonly xLabel: string;
  readonly points: readonly { readonly x: number; readonly cost: Cost }[];
}

/** The plot and a table of the same numbers. */
export function publishCurve({ name, title, xLabel, points }: Curve, unit = 'request'): string {
  const file = `plots/${name}.svg`;
  writePlot(name, {
    title,
    xLabel,
    yLabel: `CPU µs per ${unit}`,
    logarithmic: true,
    series: [
      { name: 'Tollgate, SQLite', points: points.map(({ x, cost }) => ({ x, y: cost.tollgateUs })) },
      { name: 'bare Bun forwarder', points: points.map(({ x, cost }) => ({ x, y: cost.forwarderUs })) },
    ],
  });
  const rows = points.map(({ x, cost: { tollgateUs, forwarderUs, errors } }) => [
    x.toLocaleString('en'),
    tollgateUs.toFixed(1),
    forwarderUs.toFixed(1),
    `${(tollgateUs / forwarderUs).toFixed(2)}×`,
    String(errors),
  ]);
  const head = [xLabel, 'Tollgate µs', 'bare forwarder µs', 'ratio', 'failed'];
  return `### ${title}\n\n![${title}](${file})\n\n${table(head, rows)}\n`;
}
