import { ValueType, type Attributes, type HrTime } from '@opentelemetry/api';
import {
  AggregationTemporality,
  DataPointType,
  type DataPoint,
  type Histogram,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import type { MetricFamily } from '../activity/metric-family.ts';

interface PointTimes {
  /** Since when counters count. */
  readonly startTime: HrTime;
  readonly endTime: HrTime;
}

/** The metrics that Prometheus reads, under the same names, in the form that OpenTelemetry exports. */
export function metricPoints(families: readonly MetricFamily[], times: PointTimes): MetricData[] {
  return families.flatMap((family) => (family.samples.length === 0 ? [] : [dataOf(family, times)]));
}

function dataOf(family: MetricFamily, times: PointTimes): MetricData {
  const { name, help: description, type } = family;
  const base = {
    descriptor: { name, description, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  if (type === 'histogram')
    return { ...base, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(family, times) };
  const dataPoints = family.samples.map(([key, value]) => ({
    ...times,
    attributes: parseKey(key).attributes,
    value,
  }));
  return type === 'counter'
    ? { ...base, dataPointType: DataPointType.SUM, dataPoints, isMonotonic: true }
    : { ...base, dataPointType: DataPointType.GAUGE, dataPoints };
}

interface GatheredHistogram {
  readonly attributes: Attributes;
  readonly boundaries: number[];
  /** Each with those below it, as Prometheus has them. */
  readonly cumulative: number[];
  sum: number;
  count: number;
}

function histograms({ samples }: MetricFamily, times: PointTimes): DataPoint<Histogram>[] {
  const gathered = new Map<string, GatheredHistogram>();
  for (const [key, value] of samples) {
    const { suffix, attributes, bound } = parseKey(key);
    const labels = JSON.stringify(attributes);
    let one = gathered.get(labels);
    if (!one) gathered.set(labels, (one = { attributes, boundaries: [], cumulative: [], sum: 0, count: 0 }));
    if (suffix === '_sum') one.sum = value;
    else if (suffix === '_count') one.count = value;
    else if (bound !== undefined && bound !== '+Inf') {
      one.boundaries.push(Number(bound));
      one.cumulative.push(value);
    }
  }
  return [...gathered.values()].map(({ attributes, boundaries, cumulative, sum, count }) => {
    const counts = [...cumulative, count].map((upTo, index, all) => upTo - (all[index - 1] ?? 0));
    return { ...times, attributes, value: { buckets: { boundaries, counts }, sum, count } };
  });
}

const KEY = /^(_bucket|_sum|_count)?(?:\{(.*)\})?$/s;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/gs;

function parseKey(key: string): {
  readonly suffix: string | undefined;
  readonly attributes: Attributes;
  readonly bound: string | undefined;
} {
  const [, suffix, labels = ''] = KEY.exec(key) ?? [];
  const all = [...labels.matchAll(LABEL)].map(([, name = '', text = '']) => [name, unescaped(text)] as const);
  const attributes = Object.fromEntries(all.filter(([name]) => name !== 'le'));
  return { suffix, attributes, bound: all.find(([name]) => name === 'le')?.[1] };
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/gs, (_, character: string) => (character === 'n' ? '\n' : character));
}
