import type { Metrics } from '../activity/metrics.ts';
import { countModelDays } from '../activity/model-days.ts';
import { RefusedCalls } from '../activity/refused-calls.ts';
import type { RequestTags } from '../activity/request-tags.ts';
import { UsageHours } from '../activity/usage-hours.ts';
import { TenDaySums } from '../activity/ten-day-sums.ts';
import type { ImageJobs } from '../api/image-jobs.ts';
import { IdempotencyStore } from '../ledger/idempotency-store.ts';
import type { Breach, Ledger } from '../ledger/port.ts';
import { applyRetention } from '../ledger/retention.ts';
import { watchLedger } from '../outbox/watch-operation.ts';
import type { DailyCosts } from '../relay/daily-costs.ts';
import type { Payments } from '../payments/payments.ts';
import type { Log } from '../std/log.ts';
import type { ConsoleServices } from './compose-console.ts';
import { aheadOfDatabaseMs } from './database-clock.ts';
import { imageTasks } from './compose-image-jobs.ts';
import { responseTasks, type StoredState } from './compose-responses.ts';
import { messageTasks, type NoticedParts } from './compose-outbox.ts';
import { paymentTasks } from './compose-payments.ts';
import type { LongestLife } from '../catalog/longest-request.ts';
import { PeriodicTasks, type PeriodicTask } from './periodic-tasks.ts';
import type { LiveServerSettings } from './server-settings.ts';
import type { Services } from './services.ts';
import type { SetupWatch } from './setup-checks.ts';

interface TaskParts {
  readonly auth: Pick<ConsoleServices['auth'], 'sweep' | 'sweepAttempts'>;
  readonly relay: {
    readonly upstreams: NoticedParts['pool'];
    readonly dailyCosts: DailyCosts;
    readonly tags: RequestTags;
    readonly metrics: Metrics;
    readonly lifetime: LongestLife;
  };
  readonly settings: LiveServerSettings;
  readonly refusedCalls: RefusedCalls;
  readonly imageJobs: ImageJobs;
  readonly stored: StoredState;
  readonly messages: NoticedParts['messages'];
  readonly certificate: NoticedParts['certificate'];
  readonly catalog: NoticedParts['catalog'];
  readonly payments: Payments | undefined;
  readonly setupWatch: SetupWatch;
}

/** Everything that runs periodically beside requests. */
export function startPeriodicTasks(services: Services, parts: TaskParts): PeriodicTasks {
  const { auth, settings, refusedCalls, imageJobs, messages, certificate } = parts;
  const { dailyCosts, tags, metrics, lifetime, upstreams: pool } = parts.relay;
  const { config, store, clock, log, notices } = services;
  const { ledger } = services.ledger;
  const answers = new IdempotencyStore(store, clock);
  const usageHours = new UsageHours({ store, clock });
  const tenDaySums = new TenDaySums({ store, clock });
  return new PeriodicTasks(
    [
      { name: 'costs of the day', everyMs: 5_000, run: () => dailyCosts.refresh(clock.now()) },
      { name: 'chosen tags', everyMs: 2_000, run: () => tags.refresh() },
      { name: 'expired holds', everyMs: 5_000, run: () => ledger.expire() },
      { name: 'rejected requests', everyMs: 2_000, run: () => refusedCalls.flush() },
      { name: 'old rejected requests', everyMs: 60_000, run: () => refusedCalls.sweep() },
      ...imageTasks(services, imageJobs),
      ...responseTasks(parts.stored),
      ...messageTasks(services, { messages, pool, certificate, catalog: parts.catalog }),
      ...paymentTasks(parts.payments),
      ...setupTasks(services, parts.setupWatch),
      { name: 'old answers', everyMs: 60_000, run: () => answers.sweep() },
      { name: 'old sessions', everyMs: 600_000, run: () => auth.sweep() },
      { name: 'old sign-in attempts', everyMs: 60_000, run: () => auth.sweepAttempts() },
      {
        name: 'ledger check',
        everyMs: 300_000,
        maxTimeShare: 0.02,
        run: async () => {
          const breaches = await checkLedger({ ledger, metrics, log }, lifetime.longestMs());
          await watchLedger({ db: store.db, notices }, breaches);
        },
      },
      {
        name: 'days of models',
        everyMs: 5_000,
        maxTimeShare: 0.01,
        run: async (stopping) => {
          if ((config.worker ?? 0) === 0) await countModelDays({ store, clock }, stopping);
        },
      },
      {
        name: 'hours of usage',
        everyMs: 10_000,
        maxTimeShare: 0.01,
        run: async (stopping) => {
          if ((config.worker ?? 0) > 0) return;
          if (await usageHours.count(stopping)) await tenDaySums.count(stopping);
        },
      },
      {
        name: 'old receipts',
        everyMs: 300_000,
        maxTimeShare: 0.2,
        run: async (stopping) => {
          const keepDays = settings.receiptsDays();
          if (keepDays !== undefined && (config.worker ?? 0) === 0)
            await archiveReceipts(ledger, keepDays, { log, stopping });
        },
      },
    ],
    log,
  );
}

function setupTasks({ config, store, clock }: Services, setupWatch: SetupWatch): PeriodicTask[] {
  return [
    {
      name: 'clock',
      everyMs: 60_000,
      run: async () => {
        clock.aheadMs = await aheadOfDatabaseMs(store);
      },
    },
    {
      name: 'checks of the set-up',
      everyMs: 600_000,
      run: async () => {
        if ((config.worker ?? 0) === 0) await setupWatch.check();
      },
    },
  ];
}

/** The same check as `tollgate verify`, run periodically for the metric and the log. */
async function checkLedger(
  { ledger, metrics, log }: { ledger: Ledger; metrics: Metrics; log: Log },
  longestMs: number,
): Promise<readonly Breach[]> {
  const { breaches } = await ledger.verify({ longestRequestMs: longestMs });
  metrics.verified(breaches.length);
  for (const breach of breaches.slice(0, MAX_LOGGED_BREACHES))
    log.error('ledger_invariant_violated', { ...breach });
  return breaches;
}

const MAX_LOGGED_BREACHES = 20;
const RETENTION_RUN_MS = 30_000;

/** Days that are not archived in this run are archived in the next one. */
async function archiveReceipts(
  ledger: Ledger,
  keepDays: number,
  { log, stopping }: { log: Log; stopping: AbortSignal },
): Promise<void> {
  const until = performance.now() + RETENTION_RUN_MS;
  const isOver = (): boolean => stopping.aborted || performance.now() > until;
  const { days, requests, refused } = await applyRetention(ledger, keepDays, { isOver });
  if (days > 0) log.info('receipts_archived', { days, requests });
  for (const one of refused.slice(0, MAX_LOGGED_BREACHES))
    log[one.reason === 'sums_differ' ? 'error' : 'warn']('receipts_not_archived', { ...one });
}

/** Written in batches, and once more at the end. */
export function openRefusedCalls(services: Services, opened: AsyncDisposableStack): RefusedCalls {
  const refusedCalls = new RefusedCalls(services);
  opened.defer(() => lastFlush(refusedCalls, services.log));
  return refusedCalls;
}

/** The store may be closed by now; then the last refused calls are not listed. */
async function lastFlush(refusedCalls: RefusedCalls, log: Log): Promise<void> {
  try {
    await refusedCalls.flush();
  } catch (error) {
    log.warn('rejected_requests_not_written', { error });
  }
}
