import type { CatalogSource } from '../catalog/catalog.ts';
import { randomPart } from '../std/ids.ts';
import type { Telemetry } from '../telemetry/open-telemetry.ts';
import { renderMetrics } from '../activity/metric-family.ts';
import { makeMetrics, type Metrics } from '../activity/metrics.ts';
import type { ProcessParts } from '../activity/process-metrics.ts';
import { startMetricsServer } from '../http/metrics-server.ts';
import { countWaitingByKind } from '../outbox/outbox.ts';
import { openFileLimit } from '../std/open-files.ts';
import type { Heartbeat } from '../store/heartbeat.ts';
import { lastBackupAt } from '../store/last-backup.ts';
import type { Store } from '../store/store.ts';
import { currentRelease } from '../std/release.ts';
import type { Config } from './config.ts';
import { diskSpaceOf } from './data-folder.ts';
import type { ConnectionLoad, LedgerLoad } from '../ledger/port.ts';
import { supervisorChannel, WorkerMetrics } from './worker-metrics.ts';

import { version } from '../../package.json' with { type: 'json' };
import type { Services } from './services.ts';

/** Absent unless it is configured; then nothing of OpenTelemetry is loaded either. */
export async function composeTelemetry(
  { config: { telemetry: settings }, clock, log }: Services,
  catalog: Pick<CatalogSource, 'current'>,
  opened: AsyncDisposableStack,
): Promise<Telemetry | undefined> {
  if (!settings) return undefined;
  const { openTelemetry } = await import('../telemetry/open-telemetry.ts');
  const telemetry = await openTelemetry({
    settings,
    version,
    instance: randomPart(INSTANCE_CHARACTERS),
    now: () => clock.now(),
    log,
    operationOf: (endpoint) => {
      const type = catalog.current().endpoints.get(endpoint)?.type;
      return type && OPERATIONS[type];
    },
    providerOf: (upstream) => {
      const config = catalog.current().upstreams.get(upstream);
      const provider = config?.preset ?? config?.kind;
      return provider && (PROVIDERS[provider] ?? provider);
    },
  });
  opened.defer(() => telemetry.close());
  return telemetry;
}

const INSTANCE_CHARACTERS = 16;

/** `gen_ai.operation.name`; there is none for images and moderation yet. */
const OPERATIONS = {
  chat_completion: 'chat',
  image_generation: 'image_generation',
  embedding: 'embeddings',
  moderation: 'moderation',
} as const;

/** `gen_ai.provider.name` where it differs from our name of a preset or kind. */
const PROVIDERS: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  xai: 'x_ai',
  house: 'tollgate',
};

interface MetricSources extends Pick<
  ProcessParts,
  'backends' | 'inFlight' | 'eventLoop' | 'queues' | 'certificateEndsAt' | 'setupProblems' | 'clockAheadMs'
> {
  readonly heartbeat: Heartbeat;
}

/** The metrics of this process. */
export function composeMetrics(services: Services, { heartbeat, ...sources }: MetricSources): Metrics {
  const { config, clock, store, ledger } = services;
  return makeMetrics({
    release: currentRelease(),
    startedAtMs: clock.now(),
    maxFiles: openFileLimit(),
    openHolds: () => countOpenHolds(store),
    messagesWaiting: () => countWaitingByKind(store.db),
    ledgerLoad: () => withStorePool(ledger.load(), store),
    storeAnswers: () => heartbeat.acceptsWrites(),
    backupAgeMs: () => backupAgeMs(services),
    diskSpace: () => diskSpaceOf(config.dataDir),
    ...sources,
  });
}

/** The connections of everything but the ledger are the store's own. */
function withStorePool(load: LedgerLoad, { backend }: Store): LedgerLoad {
  if (backend.kind === 'sqlite') return load;
  const own: ConnectionLoad = { name: 'store', ...backend.pool.load };
  return { ...load, connections: [...load.connections, own] };
}

async function backupAgeMs({ store, clock }: Services): Promise<number | undefined> {
  const madeAt = await lastBackupAt(store);
  return madeAt === undefined ? undefined : Math.max(0, clock.now() - madeAt);
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
 * its own too, if the operator gave one. A collector of OpenTelemetry gets those of each process by itself.
 */
export function serveMetrics(
  { worker, metricsAddress }: Config,
  { metrics, telemetry }: { readonly metrics: Metrics; readonly telemetry: Telemetry | undefined },
  opened: AsyncDisposableStack,
): () => Promise<string> {
  telemetry?.exportMetrics(() => metrics.read());
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
