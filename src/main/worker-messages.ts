import type { MetricFamily } from '../activity/metric-family.ts';

/** What a worker tells the process that started it. */
export type WorkerMessage = 'ready' | MetricsMessage;

export type MetricsMessage =
  /** Somebody asks this worker for the metrics of all. */
  | { readonly kind: 'metrics_wanted'; readonly id: number }
  /** The metrics of this worker alone. */
  | { readonly kind: 'metrics_read'; readonly id: number; readonly families: readonly MetricFamily[] };

/** What it is told. */
export type SupervisorMessage =
  | { readonly kind: 'read_metrics'; readonly id: number }
  /** Those of all workers, as Prometheus reads them. */
  | { readonly kind: 'all_metrics'; readonly id: number; readonly text: string };
