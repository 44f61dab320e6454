import { mergeMetrics, renderMetrics, type MetricFamily } from '../activity/metric-family.ts';
import type { MetricsMessage, SupervisorMessage } from './worker-messages.ts';

export interface MeteredWorker {
  send(message: SupervisorMessage): void;
}

/** A worker that does not answer in this time counts with what it said last. */
const ANSWER_TIMEOUT_MS = 1_000;

/**
 * The metrics of all workers as those of one process. What a worker has counted is kept when it exits, so that no
 * counter falls: it is lost only as far as nobody has asked since.
 */
export class MetricsOfAll<Worker extends MeteredWorker> {
  readonly #latest = new Map<Worker, readonly MetricFamily[]>();
  readonly #pending = new Map<number, { worker: Worker; done: () => void }>();
  #ofExited: MetricFamily[] = [];
  #asked = 0;
  #reading: Promise<string> | undefined;

  /** `workers`: those that serve requests now. */
  async take(message: MetricsMessage, from: Worker, workers: () => Iterable<Worker>): Promise<void> {
    if (message.kind === 'metrics_read') {
      const pending = this.#pending.get(message.id);
      if (pending?.worker !== from) return;
      this.#latest.set(from, message.families);
      pending.done();
      return;
    }
    // Those who ask while an answer is on its way share it.
    this.#reading ??= this.#read([...workers()]).finally(() => (this.#reading = undefined));
    const text = await this.#reading;
    send(from, { kind: 'all_metrics', id: message.id, text });
  }

  exited(worker: Worker): void {
    const latest = this.#latest.get(worker) ?? [];
    this.#latest.delete(worker);
    this.#ofExited = mergeMetrics([this.#ofExited, latest.filter(({ type }) => type !== 'gauge')]);
    for (const pending of this.#pending.values()) if (pending.worker === worker) pending.done();
  }

  async #read(workers: readonly Worker[]): Promise<string> {
    await Promise.all(workers.map((worker) => this.#ask(worker)));
    return renderMetrics(mergeMetrics([...this.#latest.values(), this.#ofExited]));
  }

  async #ask(worker: Worker): Promise<void> {
    const id = ++this.#asked;
    const answered = Promise.withResolvers<void>();
    const timer = setTimeout(() => answered.resolve(), ANSWER_TIMEOUT_MS);
    this.#pending.set(id, { worker, done: answered.resolve });
    try {
      if (send(worker, { kind: 'read_metrics', id })) await answered.promise;
    } finally {
      clearTimeout(timer);
      this.#pending.delete(id);
    }
  }
}

/** False if it exits right now. */
function send(worker: MeteredWorker, message: SupervisorMessage): boolean {
  try {
    worker.send(message);
    return true;
  } catch {
    return false;
  }
}
