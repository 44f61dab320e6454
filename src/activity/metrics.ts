import { BoundedCounter, BoundedNames, OTHER } from '../std/bounded-counter.ts';
import { FAULTS, type ApiFaultCode } from '../std/fault.ts';
import { Distribution } from '../std/distribution.ts';
import type { RequestEnd } from '../std/request-record.ts';
import {
  counterFamily,
  gaugeFamily,
  histogramFamily,
  labelText,
  type MetricFamily,
} from './metric-family.ts';
import { processFamilies, type ProcessParts } from './process-metrics.ts';

/**
 * What a monitoring system reads at /metrics. Counters are for this process since it started; the number of series is
 * bounded, so that new names cannot fill the memory.
 */
export interface Metrics {
  /** One finished inference request. */
  request(end: RequestEnd): void;
  /** The charge of one that was counted without it, because the store was unavailable. */
  chargedLater(end: RequestEnd): void;
  /** One answer of any operation. */
  answered(path: string, status: number): void;
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
  read(): Promise<MetricFamily[]>;
}

const LATENCY_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const NANO_PER_USD = 1_000_000_000;
/** Beyond so many, models, and combinations of endpoint, model and backend, are counted together. */
const MAX_MODELS = 100;
const MAX_ROUTES = 300;

export function makeMetrics(parts: ProcessParts): Metrics {
  return new ProcessMetrics(parts);
}

class ProcessMetrics implements Metrics {
  readonly #parts: ProcessParts;
  readonly #routes = new Map<string, RouteCounts>();
  readonly #models = new BoundedNames(MAX_MODELS);
  readonly #refusals = new BoundedCounter(['reason']);
  readonly #shed = new BoundedCounter(['reason']);
  readonly #answers = new BoundedCounter(['path', 'status']);
  readonly #attempts = new BoundedCounter(['backend', 'result', 'reason']);
  #overrunNano = 0;
  #lossNano = 0;
  #breaches = 0;
  /** Most requests count where the one before counted. */
  #latest: RouteCounts | undefined;

  constructor(parts: ProcessParts) {
    this.#parts = parts;
  }

  request(end: RequestEnd): void {
    this.#routeOf(end).add(end);
    for (const { upstream, result, reason = '' } of end.ending.attempts)
      // A reason with a colon names one request; the word before it is what can be counted.
      this.#attempts.add(
        upstream,
        result,
        reason.includes(':') ? reason.slice(0, reason.indexOf(':')) : reason,
      );
  }

  chargedLater(end: RequestEnd): void {
    this.#routeOf(end).addCharge(end);
  }

  answered(path: string, status: number): void {
    this.#answers.add(path, String(status));
  }

  refused(reason: string): void {
    this.#refusals.add(reason);
  }

  shed(reason: string): void {
    this.#shed.add(reason);
  }

  overrun(nanoUsd: number): void {
    this.#overrunNano += nanoUsd;
  }

  loss(nanoUsd: number): void {
    this.#lossNano += nanoUsd;
  }

  verified(breaches: number): void {
    this.#breaches = breaches;
  }

  async read(): Promise<MetricFamily[]> {
    return [
      ...routeFamilies([...this.#routes.values()]),
      countsFamily(
        this.#answers,
        'tollgate_http_answers_total',
        'Answers of all operations, by HTTP status.',
      ),
      countsFamily(this.#refusals, 'tollgate_refusals_total', 'Requests that were not admitted.'),
      countsFamily(this.#shed, 'tollgate_shed_requests_total', 'Requests refused because of too much load.'),
      countsFamily(
        this.#attempts,
        'tollgate_backend_attempts_total',
        'Attempts against each backend, and why they were skipped or failed.',
      ),
      counterFamily('tollgate_overrun_usd_total', 'What backends used beyond holds.', [
        ['', this.#overrunNano / NANO_PER_USD],
      ]),
      counterFamily('tollgate_loss_usd_total', 'What requests cost beyond what was charged for them.', [
        ['', this.#lossNano / NANO_PER_USD],
      ]),
      gaugeFamily(
        'tollgate_ledger_breaches',
        'Breaches found by the latest check of the books.',
        [['', this.#breaches]],
        'max',
      ),
      ...(await processFamilies(this.#parts)),
    ];
  }

  #routeOf({ endpoint, model, ending }: RequestEnd): RouteCounts {
    const { upstream = '' } = ending;
    const latest = this.#latest;
    if (latest?.isFor(endpoint, model, upstream)) return latest;
    const key = `${endpoint}\n${model}\n${upstream}`;
    let found = this.#routes.get(key);
    if (!found) {
      const labels: RouteLabels =
        this.#routes.size < MAX_ROUTES
          ? { endpoint, model: this.#models.bounded(model), backend: upstream }
          : { endpoint: OTHER, model: OTHER, backend: OTHER };
      const boundedKey = `${labels.endpoint}\n${labels.model}\n${labels.backend}`;
      found = this.#routes.get(boundedKey) ?? new RouteCounts(labels);
      this.#routes.set(boundedKey, found);
    }
    this.#latest = found;
    return found;
  }
}

interface RouteLabels {
  readonly endpoint: string;
  readonly model: string;
  readonly backend: string;
}

/** Everything that is counted for one endpoint, model and backend. */
class RouteCounts {
  readonly labels: RouteLabels;
  readonly outcomes = new Map<string, number>();
  readonly durations = new Distribution(LATENCY_SECONDS);
  readonly firstBytes = new Distribution(LATENCY_SECONDS);
  readonly tokens = { input: 0, cached: 0, output: 0, reasoning: 0 };
  images = 0;
  chargedNano = 0;
  costNano = 0;
  /** Over the requests whose cost is known. */
  marginNano = 0;

  constructor(labels: RouteLabels) {
    this.labels = labels;
  }

  isFor(endpoint: string, model: string, backend: string): boolean {
    const { labels } = this;
    return labels.model === model && labels.endpoint === endpoint && labels.backend === backend;
  }

  add({ ending, usage, charged = 0 }: RequestEnd): void {
    const key = outcomeKey(ending, usage !== undefined);
    this.outcomes.set(key, (this.outcomes.get(key) ?? 0) + 1);
    this.durations.add(ending.durationMs / 1000);
    if (ending.firstByteMs !== undefined) this.firstBytes.add(ending.firstByteMs / 1000);
    this.chargedNano += charged;
    this.#addCosts(ending, charged);
    if (!usage) return;
    this.tokens.input += usage.input - usage.cached;
    this.tokens.cached += usage.cached;
    this.tokens.output += usage.output - usage.reasoning;
    this.tokens.reasoning += usage.reasoning;
    this.images += usage.images;
  }

  /** Adds the charge of a request that was counted before it was known. */
  addCharge({ ending, charged = 0 }: RequestEnd): void {
    this.chargedNano += charged;
    if (ending.attempts.some(({ cost }) => cost)) this.marginNano += charged;
  }

  #addCosts({ attempts }: RequestEnd['ending'], charged: number): void {
    let cost: number | undefined;
    for (const attempt of attempts) if (attempt.cost) cost = (cost ?? 0) + attempt.cost.amount;
    if (cost === undefined) return;
    this.costNano += cost;
    this.marginNano += charged - cost;
  }
}

const SERVED = 'status="200",outcome="completed"';

/** A request that was charged has been answered with 200, whatever became of its stream. */
function outcomeKey({ outcome, errorCode }: RequestEnd['ending'], isCharged: boolean): string {
  if (isCharged && outcome === 'completed') return SERVED;
  return labelText({ status: isCharged ? '200' : String(statusOf(errorCode)), outcome });
}

function statusOf(code: string | undefined): number {
  return code !== undefined && code in FAULTS
    ? FAULTS[code as ApiFaultCode].status
    : FAULTS.internal_error.status;
}

function countsFamily(counter: BoundedCounter, name: string, help: string): MetricFamily {
  const samples = [...counter.entries()].map(([labels, count]) => [`{${labelText(labels)}}`, count] as const);
  return counterFamily(name, help, samples);
}

function routeFamilies(routes: readonly RouteCounts[]): MetricFamily[] {
  const labelled = routes.map((counts) => ({ counts, labels: labelText({ ...counts.labels }) }));
  const each = (read: (counts: RouteCounts) => number): MetricFamily['samples'] =>
    labelled.map(({ counts, labels }) => [`{${labels}}`, read(counts)]);
  return [
    counterFamily(
      'tollgate_requests_total',
      'Inference requests that are over.',
      labelled.flatMap(({ counts, labels }) =>
        [...counts.outcomes].map(([outcome, count]) => [`{${labels},${outcome}}`, count] as const),
      ),
    ),
    histogramFamily(
      'tollgate_request_duration_seconds',
      'From admission to the last byte.',
      labelled.map(({ counts, labels }) => ({ labels, values: counts.durations })),
    ),
    histogramFamily(
      'tollgate_first_byte_seconds',
      "From admission to the backend's first byte, which is a stream's first token.",
      labelled.map(({ counts, labels }) => ({ labels, values: counts.firstBytes })),
    ),
    counterFamily(
      'tollgate_tokens_total',
      'Tokens of finished requests; cached ones are not in input, and reasoning is not in output.',
      labelled.flatMap(({ counts, labels }) =>
        Object.entries(counts.tokens).map(([kind, count]) => [`{${labels},kind="${kind}"}`, count] as const),
      ),
    ),
    counterFamily(
      'tollgate_images_total',
      'Images of finished requests.',
      each(({ images }) => images),
    ),
    counterFamily(
      'tollgate_charged_usd_total',
      'What was charged.',
      each(({ chargedNano }) => chargedNano / NANO_PER_USD),
    ),
    counterFamily(
      'tollgate_cost_usd_total',
      'What backends cost, as far as it is known.',
      each(({ costNano }) => costNano / NANO_PER_USD),
    ),
    gaugeFamily(
      'tollgate_margin_usd',
      'Charge less cost of the requests whose cost is known, since the start.',
      each(({ marginNano }) => marginNano / NANO_PER_USD),
    ),
  ];
}
