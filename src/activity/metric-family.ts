import type { DistributionSample } from '../std/distribution.ts';

/**
 * One metric with all its samples, as plain data: a process can send it to another, which adds those of several
 * processes.
 */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** How the values of several processes become one. */
  readonly merge: MetricMerge;
  /** The key is what follows the name in the text: the suffix of a histogram, and labels. */
  readonly samples: readonly (readonly [key: string, value: number])[];
}

type MetricMerge = 'sum' | 'max' | 'min';
type MetricSamples = MetricFamily['samples'];

export function counterFamily(name: string, help: string, samples: MetricSamples): MetricFamily {
  return { name, help, type: 'counter', merge: 'sum', samples };
}

export function gaugeFamily(
  name: string,
  help: string,
  samples: MetricSamples,
  merge: MetricMerge = 'sum',
): MetricFamily {
  return { name, help, type: 'gauge', merge, samples };
}

interface LabelledDistribution {
  /** As {@link labelText} writes them; may be empty. */
  readonly labels: string;
  readonly values: DistributionSample;
}

export function histogramFamily(
  name: string,
  help: string,
  distributions: readonly LabelledDistribution[],
): MetricFamily {
  return { name, help, type: 'histogram', merge: 'sum', samples: distributions.flatMap(histogramSamples) };
}

function histogramSamples({ labels, values }: LabelledDistribution): (readonly [string, number])[] {
  const before = labels === '' ? '' : `${labels},`;
  const own = labels === '' ? '' : `{${labels}}`;
  let cumulative = 0;
  const buckets = values.bounds.map((bound, index) => {
    cumulative += values.counts[index] ?? 0;
    return [`_bucket{${before}le="${bound}"}`, cumulative] as const;
  });
  return [
    ...buckets,
    [`_bucket{${before}le="+Inf"}`, values.count],
    [`_sum${own}`, values.sum],
    [`_count${own}`, values.count],
  ];
}

/** Prometheus' text format, version 0.0.4. */
export function renderMetrics(families: readonly MetricFamily[]): string {
  const lines = families.flatMap(({ name, help, type, samples }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([key, value]) => `${name}${key} ${value}`),
  ]);
  return `${lines.join('\n')}\n`;
}

/** The metrics of several processes as those of one. */
export function mergeMetrics(processes: readonly (readonly MetricFamily[])[]): MetricFamily[] {
  const merged = new Map<string, { family: MetricFamily; values: Map<string, number> }>();
  for (const family of processes.flat()) {
    const known = merged.get(family.name);
    if (known) for (const [key, value] of family.samples) add(known.values, family.merge, key, value);
    else merged.set(family.name, { family, values: new Map(family.samples) });
  }
  return [...merged.values()].map(({ family, values }) => ({ ...family, samples: [...values] }));
}

function add(values: Map<string, number>, merge: MetricMerge, key: string, value: number): void {
  const before = values.get(key);
  values.set(key, before === undefined ? value : MERGES[merge](before, value));
}

const MERGES: Readonly<Record<MetricMerge, (a: number, b: number) => number>> = {
  sum: (a, b) => a + b,
  max: Math.max,
  min: Math.min,
};

export function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',');
}

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`));
}
