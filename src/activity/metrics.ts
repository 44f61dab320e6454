import type { DelaySample } from '../std/event-loop.ts';

/**
 * What a monitoring system reads at /metrics, in Prometheus' text format. Counters are for this process since it started;
 * the number of series is bounded, so that new names cannot fill the memory.
 */
export interface Metrics {
  /** One finished inference request. */
  request(sample: RequestSample): void;
  /** A request that was not admitted. */
  refused(reason: string): void;
  /** A request that was refused at once because there was too much to do. */
  shed(reason: string): void;
  /** What a backend used beyond a hold, in nano-USD: the operator's loss. */
  overrun(nanoUsd: number): void;
  /** What a request cost beyond what was charged for it, in nano-USD. */
  loss(nanoUsd: number): void;
  /** The result of the latest check of the ledger. */
  verified(breaches: number): void;
  render(): Promise<string>;
}

export interface RequestSample {
  readonly endpoint: string;
  readonly outcome: string;
  readonly durationMs: number;
  readonly firstByteMs?: number | undefined;
}

export interface MetricsParts {
  readonly version: string;
  readonly startedAtMs: number;
  /** Called at each scrape; a gauge that fails is left out, the others are still shown. */
  openHolds(): Promise<number>;
  backends(): readonly BackendSample[];
  /** Requests under way in this process. */
  readonly inFlight?: (() => number) | undefined;
  /** How late the event loop is. */
  readonly eventLoop?: (() => DelaySample) | undefined;
}

export interface BackendSample {
  readonly name: string;
  readonly state: string;
  readonly requests: number;
  readonly failures: number;
}

const LATENCY_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const BACKEND_STATES = ['ok', 'failing', 'resting', 'probing'];
const NANO_PER_USD = 1_000_000_000;

export function makeMetrics(parts: MetricsParts): Metrics {
  const requests = new Counter('tollgate_requests_total', 'Inference requests that are over.', [
    'endpoint',
    'outcome',
  ]);
  const refusals = new Counter('tollgate_refusals_total', 'Requests that were not admitted.', ['reason']);
  const shed = new Counter('tollgate_shed_requests_total', 'Requests refused because of too much load.', [
    'reason',
  ]);
  const durations = new Histogram('tollgate_request_duration_seconds', 'From admission to the last byte.');
  const firstBytes = new Histogram(
    'tollgate_first_byte_seconds',
    "From admission to the backend's first byte.",
  );
  let overrunNano = 0;
  let lossNano = 0;
  let breaches: number | undefined;
  return {
    request({ endpoint, outcome, durationMs, firstByteMs }) {
      requests.add([endpoint, outcome]);
      durations.observe(endpoint, durationMs / 1000);
      if (firstByteMs !== undefined) firstBytes.observe(endpoint, firstByteMs / 1000);
    },
    refused: (reason) => refusals.add([reason]),
    shed: (reason) => shed.add([reason]),
    overrun(nanoUsd) {
      overrunNano += nanoUsd;
    },
    loss(nanoUsd) {
      lossNano += nanoUsd;
    },
    verified(count) {
      breaches = count;
    },
    async render() {
      const holds = await parts.openHolds().catch(() => undefined);
      return [
        ...requests.lines(),
        ...refusals.lines(),
        ...shed.lines(),
        ...gauge('tollgate_requests_in_flight', 'Requests under way in this process.', parts.inFlight?.()),
        ...durations.lines(),
        ...firstBytes.lines(),
        ...gauge('tollgate_holds_open', 'Requests that hold money right now, on all nodes.', holds),
        ...gauge('tollgate_ledger_breaches', 'Breaches found by the latest check of the books.', breaches),
        ...counter(
          'tollgate_overrun_usd_total',
          'What backends used beyond holds.',
          overrunNano / NANO_PER_USD,
        ),
        ...counter(
          'tollgate_loss_usd_total',
          'What requests cost beyond what was charged for them.',
          lossNano / NANO_PER_USD,
        ),
        ...backendLines(parts.backends()),
        ...delayLines(parts.eventLoop?.()),
        ...processLines(parts),
        '',
      ].join('\n');
    },
  };
}

/** Beyond this many combinations of labels a metric counts the rest together. */
const MAX_SERIES = 200;
const OTHER = 'other';

class Counter {
  readonly #name: string;
  readonly #help: string;
  readonly #labels: readonly string[];
  readonly #series = new Map<string, Series>();
  /** Most requests count in the same series as the one before. */
  #latest: Series | undefined;

  constructor(name: string, help: string, labels: readonly string[]) {
    this.#name = name;
    this.#help = help;
    this.#labels = labels;
  }

  add(values: readonly string[]): void {
    if (!this.#latest || !isSame(this.#latest.values, values)) this.#latest = this.#find(values);
    this.#latest.count++;
  }

  #find(requested: readonly string[]): Series {
    const hasRoom = hasRoomFor(this.#series, labelText(this.#labels, requested));
    const values = hasRoom ? requested : requested.map(() => OTHER);
    const key = labelText(this.#labels, values);
    const series = this.#series.get(key) ?? { values, count: 0 };
    this.#series.set(key, series);
    return series;
  }

  lines(): string[] {
    const series = [...this.#series].map(([labels, { count }]) => `${this.#name}{${labels}} ${count}`);
    return [...head(this.#name, this.#help, 'counter'), ...series];
  }
}

interface Series {
  readonly values: readonly string[];
  count: number;
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index]);
}

interface Buckets {
  readonly counts: number[];
  sum: number;
  count: number;
}

class Histogram {
  readonly #name: string;
  readonly #help: string;
  readonly #series = new Map<string, Buckets>();

  constructor(name: string, help: string) {
    this.#name = name;
    this.#help = help;
  }

  observe(endpoint: string, seconds: number): void {
    const key = hasRoomFor(this.#series, endpoint) ? endpoint : OTHER;
    let buckets = this.#series.get(key);
    if (!buckets) {
      buckets = { counts: LATENCY_SECONDS.map(() => 0), sum: 0, count: 0 };
      this.#series.set(key, buckets);
    }
    let index = 0;
    while (seconds > (LATENCY_SECONDS[index] ?? Infinity)) index++;
    if (index < buckets.counts.length) buckets.counts[index] = (buckets.counts[index] ?? 0) + 1;
    buckets.sum += seconds;
    buckets.count++;
  }

  lines(): string[] {
    return [
      ...head(this.#name, this.#help, 'histogram'),
      ...[...this.#series].flatMap(([key, buckets]) => this.#lines(key, buckets)),
    ];
  }

  #lines(endpoint: string, { counts, sum, count }: Buckets): string[] {
    const labels = labelText(['endpoint'], [endpoint]);
    let cumulative = 0;
    const buckets = LATENCY_SECONDS.map((bound, index) => {
      cumulative += counts[index] ?? 0;
      return `${this.#name}_bucket{${labels},le="${bound}"} ${cumulative}`;
    });
    return [
      ...buckets,
      `${this.#name}_bucket{${labels},le="+Inf"} ${count}`,
      `${this.#name}_sum{${labels}} ${sum}`,
      `${this.#name}_count{${labels}} ${count}`,
    ];
  }
}

function hasRoomFor(series: ReadonlyMap<string, unknown>, key: string): boolean {
  return series.has(key) || series.size < MAX_SERIES;
}

function backendLines(backends: readonly BackendSample[]): string[] {
  const states = backends.flatMap(({ name, state }) =>
    BACKEND_STATES.map(
      (one) =>
        `tollgate_backend_state{${labelText(['backend', 'state'], [name, one])}} ${one === state ? 1 : 0}`,
    ),
  );
  const counts = (metric: string, read: (backend: BackendSample) => number): string[] =>
    backends.map((backend) => `${metric}{${labelText(['backend'], [backend.name])}} ${read(backend)}`);
  return [
    ...head('tollgate_backend_state', 'Which state each backend is in: 1 for that one.', 'gauge'),
    ...states,
    ...head('tollgate_backend_attempts_total', 'Attempts against each backend.', 'counter'),
    ...counts('tollgate_backend_attempts_total', ({ requests }) => requests),
    ...head('tollgate_backend_failures_total', 'Attempts that failed.', 'counter'),
    ...counts('tollgate_backend_failures_total', ({ failures }) => failures),
  ];
}

function delayLines(sample: DelaySample | undefined): string[] {
  if (!sample) return [];
  const name = 'tollgate_event_loop_delay_seconds';
  let cumulative = 0;
  const buckets = sample.bounds.map((bound, index) => {
    cumulative += sample.counts[index] ?? 0;
    return `${name}_bucket{le="${bound}"} ${cumulative}`;
  });
  return [
    ...head(name, 'How late steps of the event loop began.', 'histogram'),
    ...buckets,
    `${name}_bucket{le="+Inf"} ${sample.count}`,
    `${name}_sum ${sample.sum}`,
    `${name}_count ${sample.count}`,
  ];
}

function processLines({ version, startedAtMs }: MetricsParts): string[] {
  const build = labelText(['version', 'runtime'], [version, `bun ${Bun.version}`]);
  return [
    ...head('tollgate_build_info', 'What is running.', 'gauge'),
    `tollgate_build_info{${build}} 1`,
    ...gauge('process_resident_memory_bytes', 'Memory of this process.', process.memoryUsage.rss()),
    ...gauge('process_start_time_seconds', 'When this process started.', Math.floor(startedAtMs / 1000)),
  ];
}

function gauge(name: string, help: string, value: number | undefined): string[] {
  return value === undefined ? [] : [...head(name, help, 'gauge'), `${name} ${value}`];
}

function counter(name: string, help: string, value: number): string[] {
  return [...head(name, help, 'counter'), `${name} ${value}`];
}

function head(name: string, help: string, type: 'counter' | 'gauge' | 'histogram'): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function labelText(names: readonly string[], values: readonly string[]): string {
  return names.map((name, index) => `${name}="${escaped(values[index] ?? '')}"`).join(',');
}

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`));
}
