import { mergeMetrics, renderMetrics, type MetricFamily } from '../activity/metric-family.ts';
import { Fault } from '../std/fault.ts';

interface SupervisorChannel {
  send(message: WorkerMessage): void;
  onMessage(take: (message: SupervisorMessage) => void): void;
}

/** Longer than the supervisor waits for the slowest worker. */
const SUPERVISOR_TIMEOUT_MS = 4_000;
const MAX_WAITING = 100;

/**
 * A worker's side of metrics that are the same whichever worker is asked: it sends its own when the supervisor asks,
 * and asks the supervisor for those of all workers.
 */
export class WorkerMetrics {
  readonly #channel: SupervisorChannel;
  readonly #waiting = new Map<number, (text: string) => void>();
  #asked = 0;

  constructor(channel: SupervisorChannel, read: () => Promise<MetricFamily[]>) {
    this.#channel = channel;
    channel.onMessage((message) => {
      if (message.kind === 'all_metrics') this.#waiting.get(message.id)?.(message.text);
      else void this.#tell(message.id, read);
    });
  }

  /** Throws if the supervisor does not answer: the numbers of one worker in place of all would make counters fall. */
  async ofAll(): Promise<string> {
    if (this.#waiting.size >= MAX_WAITING) throw unavailable();
    const id = ++this.#asked;
    const answered = Promise.withResolvers<string | undefined>();
    const timer = setTimeout(() => answered.resolve(undefined), SUPERVISOR_TIMEOUT_MS);
    this.#waiting.set(id, answered.resolve);
    try {
      this.#channel.send({ kind: 'metrics_wanted', id });
      const text = await answered.promise;
      if (text === undefined) throw unavailable();
      return text;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  async #tell(id: number, read: () => Promise<MetricFamily[]>): Promise<void> {
    this.#channel.send({ kind: 'metrics_read', id, families: await read() });
  }
}

function unavailable(): Fault {
  return new Fault('service_unavailable', 'The metrics of all workers cannot be had right now.', {
    retryAfterMs: 1_000,
  });
}

/** The supervisor of this process. */
export function supervisorChannel(): SupervisorChannel {
  return {
    send: (message) => void process.send?.(message),
    // Nobody else sends messages to this process.
    onMessage: (take) => void process.on('message', (message) => take(message as SupervisorMessage)),
  };
}

interface MeteredWorker {
  send(message: SupervisorMessage): void;
}

/** A worker that does not answer in this time counts with what it said last. */
const WORKER_TIMEOUT_MS = 1_000;

/**
 * The metrics of all workers as those of one process. What a worker has counted is kept when it exits, so that no
 * counter falls; only what it counted since it was last asked is lost.
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
    // Requests that come while an answer is on its way share it.
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
    const timer = setTimeout(() => answered.resolve(), WORKER_TIMEOUT_MS);
    this.#pending.set(id, { worker, done: answered.resolve });
    try {
      if (send(worker, { kind: 'read_metrics', id })) await answered.promise;
    } finally {
      clearTimeout(timer);
      this.#pending.delete(id);
    }
  }
}

/** False: the worker is exiting. */
function send(worker: MeteredWorker, message: SupervisorMessage): boolean {
  try {
    worker.send(message);
    return true;
  } catch {
    return false;
  }
}

/** What a worker tells the process that started it. */
export type WorkerMessage = 'ready' | MetricsMessage;

type MetricsMessage =
  /** Somebody asks this worker for the metrics of all. */
  | { readonly kind: 'metrics_wanted'; readonly id: number }
  /** The metrics of this worker alone. */
  | { readonly kind: 'metrics_read'; readonly id: number; readonly families: readonly MetricFamily[] };

/** What the supervisor sends to a worker. */
export type SupervisorMessage =
  | { readonly kind: 'read_metrics'; readonly id: number }
  /** The metrics of all workers, in the format of Prometheus. */
  | { readonly kind: 'all_metrics'; readonly id: number; readonly text: string };
