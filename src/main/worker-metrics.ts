import type { MetricFamily } from '../activity/metric-family.ts';
import { Fault } from '../std/fault.ts';
import type { SupervisorMessage, WorkerMessage } from './worker-messages.ts';

export interface SupervisorChannel {
  send(message: WorkerMessage): void;
  onMessage(take: (message: SupervisorMessage) => void): void;
}

/** Longer than the supervisor waits for the slowest worker. */
const ANSWER_TIMEOUT_MS = 4_000;
const MAX_WAITING = 100;

/**
 * A worker's side of metrics that are the same whichever worker is asked: it tells its own when the supervisor asks, and
 * asks the supervisor for those of all.
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
    const timer = setTimeout(() => answered.resolve(undefined), ANSWER_TIMEOUT_MS);
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
