import { expect, test } from 'bun:test';
import { counterFamily, gaugeFamily, type MetricFamily } from '../activity/metric-family.ts';
import { MetricsOfAll, WorkerMetrics, type SupervisorMessage } from './worker-metrics.ts';

/** Workers and their supervisor, with the messages between them and without the processes. */
class Scene {
  readonly all = new MetricsOfAll<FakeWorker>();
  readonly workers = new Set<FakeWorker>();

  add(): FakeWorker {
    const worker = new FakeWorker(this);
    this.workers.add(worker);
    return worker;
  }

  exit(worker: FakeWorker): void {
    this.workers.delete(worker);
    this.all.exited(worker);
  }
}

class FakeWorker {
  requests = 0;
  isSilent = false;
  readonly metrics: WorkerMetrics;
  #take: (message: SupervisorMessage) => void = () => undefined;

  constructor(scene: Scene) {
    this.metrics = new WorkerMetrics(
      {
        send: (message) => void (message !== 'ready' && scene.all.take(message, this, () => scene.workers)),
        onMessage: (take) => (this.#take = take),
      },
      async () => this.#read(),
    );
  }

  send(message: SupervisorMessage): void {
    if (this.isSilent && message.kind === 'read_metrics') return;
    queueMicrotask(() => this.#take(message));
  }

  #read(): MetricFamily[] {
    return [
      counterFamily('requests_total', 'Requests.', [['', this.requests]]),
      gaugeFamily('memory_bytes', 'Memory.', [['', 10]]),
    ];
  }
}

async function scrape(worker: FakeWorker): Promise<{ requests: number; memory: number }> {
  const text = await worker.metrics.ofAll();
  const read = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
  return { requests: read('requests_total'), memory: read('memory_bytes') };
}

test('whichever worker is asked, the answer is the sum of all', async () => {
  const scene = new Scene();
  const [first, second] = [scene.add(), scene.add()];
  first.requests = 3;
  second.requests = 4;
  expect(await scrape(first)).toEqual({ requests: 7, memory: 20 });
  expect(await scrape(second)).toEqual({ requests: 7, memory: 20 });
  const together = await Promise.all([scrape(first), scrape(second), scrape(first)]);
  expect(together.map(({ requests }) => requests)).toEqual([7, 7, 7]);
});

test('what a worker had counted stays when it exits, and its memory does not', async () => {
  const scene = new Scene();
  const [first, second] = [scene.add(), scene.add()];
  first.requests = 3;
  second.requests = 4;
  await scrape(first);
  scene.exit(second);
  expect(await scrape(first)).toEqual({ requests: 7, memory: 10 });
  const third = scene.add();
  third.requests = 1;
  expect(await scrape(third)).toEqual({ requests: 8, memory: 20 });
});

test('a worker that does not answer counts with what it said last, and keeps nobody waiting for long', async () => {
  const scene = new Scene();
  const [first, second] = [scene.add(), scene.add()];
  second.requests = 4;
  expect((await scrape(first)).requests).toBe(4);
  second.isSilent = true;
  first.requests = 1;
  expect((await scrape(first)).requests).toBe(5);
});

test('a worker that exits while it is asked keeps nobody waiting', async () => {
  const scene = new Scene();
  const [first, second] = [scene.add(), scene.add()];
  second.isSilent = true;
  first.requests = 2;
  const answer = scrape(first);
  scene.exit(second);
  expect((await answer).requests).toBe(2);
});
