import { renderMetrics } from '../activity/metric-family.ts';
import { makeMetrics, type Metrics } from '../activity/metrics.ts';
import type { ProcessParts } from '../activity/process-metrics.ts';
import { startMetricsServer } from '../http/metrics-server.ts';
import { countWaitingByKind } from '../outbox/outbox.ts';
import { openFileLimit } from '../std/open-files.ts';
import type { Store } from '../store/store.ts';
import { version } from '../../package.json' with { type: 'json' };
import type { Config } from './config.ts';
import type { Services } from './services.ts';
import { supervisorChannel, WorkerMetrics } from './worker-metrics.ts';

type MetricSources = Pick<
  ProcessParts,
  'backends' | 'inFlight' | 'eventLoop' | 'queues' | 'certificateEndsAt' | 'setupProblems' | 'clockAheadMs'
>;

/** The metrics of this process. */
export function composeMetrics({ clock, store, ledger }: Services, sources: MetricSources): Metrics {
  return makeMetrics({
    version,
    startedAtMs: clock.now(),
    maxFiles: openFileLimit(),
    openHolds: () => countOpenHolds(store),
    messagesWaiting: () => countWaitingByKind(store.db),
    ledgerLoad: () => ledger.load(),
    ...sources,
  });
}

async function countOpenHolds(store: Store): Promise<number> {
  const { open } = await store.db
    .selectFrom('hold')
    .select(({ fn }) => fn.countAll<number>().as('open'))
    .executeTakeFirstOrThrow();
  return open;
}

/**
 * What a scrape gets: this process's metrics, or those of all workers where it is one of several. Served on an address of
 * its own too, if the operator gave one.
 */
export function serveMetrics(
  { worker, metricsAddress }: Config,
  metrics: Metrics,
  opened: AsyncDisposableStack,
): () => Promise<string> {
  const read = worker === undefined ? async () => renderMetrics(await metrics.read()) : readerOfAll(metrics);
  if (metricsAddress) {
    const server = startMetricsServer({ ...metricsAddress, shared: worker !== undefined, metrics: read });
    opened.defer(() => server.stop());
  }
  return read;
}

function readerOfAll(metrics: Metrics): () => Promise<string> {
  const workerMetrics = new WorkerMetrics(supervisorChannel(), () => metrics.read());
  return () => workerMetrics.ofAll();
}
