import { currentRelease, releaseName } from '../std/release.ts';
import { backendCosts } from '../activity/margin.ts';
import type { Metrics } from '../activity/metrics.ts';
import { RequestTags } from '../activity/request-tags.ts';
import type { RefusedCalls } from '../activity/refused-calls.ts';
import type { CatalogSource } from '../catalog/catalog.ts';
import { composeTelemetry, composeMetrics, serveMetrics } from './compose-telemetry.ts';
import { composeConsole, webFiles, type ConsoleServices } from './compose-console.ts';
import type { Telemetry } from '../telemetry/open-telemetry.ts';
import { composeOutbox, type MessageServices } from './compose-outbox.ts';
import { allRoutes } from './all-routes.ts';
import { openPayments } from './compose-payments.ts';
import { openCertificate, type Certificate } from './certificate.ts';
import type { Config } from './config.ts';
import { CallerAuth } from '../http/caller-auth.ts';
import { MetricsGuard } from '../http/health.ts';
import { metricsToken } from '../identity/accounts/secret.ts';
import type { ImageJobs } from '../api/image-jobs.ts';
import type { ImageLinks } from '../api/image-links.ts';
import { openApiDocument } from '../api/openapi.ts';
import { OPERATIONS } from '../api/operations.ts';
import { makePlayground } from '../api/playground.ts';
import type { OperationHealth } from '../console/parts.ts';
import { makePublicPages } from '../console/public/public-pages.ts';
import type { WebFile } from '../console/site.ts';
import { houseBackend } from '../house/backend.ts';
import { Idempotency } from '../http/idempotency/idempotency.ts';
import type { Router } from '../http/router.ts';
import { startServer, type RunningServer } from '../http/server.ts';
import { tokenHasher } from '../identity/accounts/token.ts';
import { lastingCaller } from '../ledger/decide.ts';
import { IdempotencyStore } from '../ledger/idempotency-store.ts';
import type { Payments } from '../payments/payments.ts';
import type { RelayParts } from '../relay/call.ts';
import { DailyCosts } from '../relay/daily-costs.ts';
import { ActiveRequests } from '../relay/hold/active-hold.ts';
import { SettlementRetryQueue } from '../relay/hold/settlement-retry-queue.ts';
import { AccessLog } from '../std/access-log.ts';
import { openResponses, type StoredState } from './compose-responses.ts';
import { makeImageJobs, makeImageLinks, takeOverJobs } from './compose-image-jobs.ts';
import { LongestLife } from '../catalog/longest-request.ts';
import { StoredCatalog } from '../catalog/stored.ts';
import { openAnyCatalog, closeServices, openServices, type Services } from './services.ts';
import { LiveServerSettings } from './server-settings.ts';
import { requireClock, SetupWatch } from './setup-checks.ts';
import { openRefusedCalls, startPeriodicTasks } from './start-tasks.ts';
import { systemClock, type Clock } from '../std/clock.ts';
import { EventLoop } from '../std/event-loop.ts';
import { Fault } from '../std/fault.ts';
import { systemRandom, type Random } from '../std/ids.ts';
import { stderrLog, type Log } from '../std/log.ts';
import { openFileLimit } from '../std/open-files.ts';
import { RequestSlots, slotsWithin } from '../std/request-slots.ts';
import { catalogFor } from '../catalog/groups.ts';
import { SeenGroups } from '../relay/seen-groups.ts';
import { announceWallets } from '../store/other-nodes.ts';
import { StartupError } from '../std/startup-error.ts';
import { Heartbeat } from '../store/heartbeat.ts';
import { sharedTokenCounter } from '../tokenizer/worker-counter.ts';
import { Pool } from '../upstream/pool.ts';

/** A running Tollgate. */
export interface Tollgate {
  readonly url: string;
  readonly services: Services;
  /** The page that creates the first admin; absent once there is one. */
  readonly setupLink: string | undefined;
  /** Reads the catalog and the certificate again and logs the result. */
  reload(): Promise<void>;
  /** Reports that it is not ready but keeps serving, so that load balancers leave before anything is refused. */
  announceStop(): void;
  /** From now on answers ask clients to close their connection. */
  closeAfterAnswers(): void;
  /** From now on new connections are refused; those that clients have begun to make are still served. */
  refuseConnections(): void;
  /** Refuses new connections, lets requests finish within the grace period and closes everything, last opened first. */
  stop(graceMs?: number): Promise<void>;
}

/** The composition root: config → store → parts → server → periodic tasks; stopping runs in reverse order. */
export async function startTollgate(
  config: Config,
  log: Log = stderrLog,
  clock: Clock = systemClock,
  random: Random = systemRandom,
): Promise<Tollgate> {
  await startHttpThread();
  const services = await openServices(config, log, clock, random);
  const opened = new AsyncDisposableStack();
  opened.defer(() => closeServices(services));
  try {
    await requireUsable(services);
    await services.ledger.recover();
    const catalog = await openAnyCatalog(services);
    opened.defer(() => catalog.close());
    if (catalog instanceof StoredCatalog) await catalog.convert();
    const settings = new LiveServerSettings(catalog, config, log);
    const certificate = await openCertificate(services, settings, opened);
    const accessLog = openAccessLog(services, { catalog, settings }, opened);
    const eventLoop = startEventLoop(services, opened);
    const messages = composeOutbox(services, opened);
    const payments = await openPayments(services);
    const watched = { eventLoop, certificate, ...(await openWatch(services, { settings, catalog }, opened)) };
    const relay = await makeRelay(services, catalog, { ...watched, messages, payments });
    const links = makeImageLinks(services);
    const refusedCalls = openRefusedCalls(services, opened);
    const imageJobs = makeImageJobs(services, relay, links);
    const stored = await openResponses(services, { catalog, settings, relay });
    const consoleServices = composeConsole(services, {
      payments,
      catalog,
      settings,
      pool: relay.upstreams,
      messages,
      operation: operationHealth(relay, certificate),
      playground: makePlayground(relay, { links, imageJobs, refusedCalls }),
    });
    opened.defer(() => consoleServices.console.close());
    opened.defer(() => relay.activeRequests.stop());
    const { auth, setup } = consoleServices;
    if (!(await setup.needed())) await auth.load();
    const running = { relay, settings, refusedCalls, imageJobs, stored, payments, ...watched };
    const state = { draining: false };
    const tasks = startPeriodicTasks(services, { ...running, auth, messages, catalog });
    opened.defer(() => tasks.stop());
    const served = { ...running, services, catalog, links, consoleServices, accessLog };
    const metrics = serveMetrics(config, { metrics: relay.metrics, ...watched }, opened);
    const server = await openServer({ ...served, state, metrics });
    opened.defer(() => server.stop());
    certificate?.follow((pair) => server.useCertificate(pair));
    // After everything that can fail: a server that cannot start prints one line and nothing else.
    logSetup(services, watched.setupWatch);
    await takeOverJobs(imageJobs, log);
    // One worker issues the link: each new link invalidates the earlier ones.
    const issued = (config.worker ?? 0) === 0 ? await setup.issue() : undefined;
    return {
      url: server.url,
      services,
      setupLink: issued && `${config.publicUrl ?? server.url}/setup/${issued.token}`,
      reload: async () => {
        await reloadCatalog(catalog, services);
        await certificate?.check();
      },
      ...stopping({ config, relay, imageJobs, stored, server, state, opened }),
    };
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

function startEventLoop({ config, log }: Services, opened: AsyncDisposableStack): EventLoop {
  const eventLoop = new EventLoop({ log, maxDelayMs: config.maxDelayMs }).start();
  opened.defer(() => eventLoop.stop());
  return eventLoop;
}

async function openWatch(
  services: Services,
  { settings, catalog }: { settings: LiveServerSettings; catalog: CatalogSource },
  opened: AsyncDisposableStack,
): Promise<Pick<WatchedParts, 'setupWatch' | 'heartbeat' | 'telemetry'>> {
  const { config, clock, log, ledger } = services;
  const setupWatch = new SetupWatch(
    () => ({
      config,
      settings: { tls: settings.tls(), trustedProxies: settings.trustedProxies() },
      clock,
      aheadMs: clock.aheadMs,
    }),
    log,
  );
  const telemetry = await composeTelemetry(services, catalog, opened);
  return { setupWatch, heartbeat: new Heartbeat(() => ledger.probe()), telemetry };
}

function operationHealth(
  { settlements, activeRequests }: Relay,
  certificate: Certificate | undefined,
): OperationHealth {
  return {
    certificateEndsAt: () => certificate?.endsAt(),
    settlementsWaiting: () => settlements.waiting,
    runningAt: (backend) => activeRequests.countAt(backend),
  };
}

interface StoppingParts extends Pick<ServerParts, 'relay' | 'imageJobs' | 'stored'> {
  readonly config: Config;
  readonly server: RunningServer;
  readonly state: { draining: boolean };
  readonly opened: AsyncDisposableStack;
}

function stopping({
  config,
  relay,
  imageJobs,
  stored,
  server,
  state,
  opened,
}: StoppingParts): Pick<Tollgate, 'announceStop' | 'closeAfterAnswers' | 'refuseConnections' | 'stop'> {
  return {
    announceStop: () => {
      state.draining = true;
    },
    closeAfterAnswers: () => server.closeAfterAnswers(),
    refuseConnections: () => void server.refuseConnections(),
    stop: async (graceMs = config.graceMs) => {
      state.draining = true;
      server.closeListener();
      await drain(relay, { imageJobs, background: stored.background }, graceMs);
      await opened.disposeAsync();
    },
  };
}

async function requireUsable(services: Services): Promise<void> {
  requireClock(services.clock.aheadMs);
  await claimDataFolder(services);
  await announceWallets(services.store, services.clock.now());
}

/** A server that is being replaced may take its whole grace period; one that stays longer is a mistake. */
async function claimDataFolder({ config, store: { backend }, log }: Services): Promise<void> {
  if (backend.kind !== 'sqlite' || backend.claim()) return;
  const waitMs = config.drainMs + config.graceMs + CUT_TIMEOUT_MS;
  log.warn('waiting_for_other_server', { folder: config.dataDir, seconds: Math.ceil(waitMs / 1000) });
  for (const until = performance.now() + waitMs; performance.now() < until; await Bun.sleep(CLAIM_PAUSE_MS))
    if (backend.claim()) return;
  throw new StartupError(
    `Another server is running on the data folder ${config.dataDir}. Stop it, or set TOLLGATE_DATA to another folder.`,
  );
}

const CLAIM_PAUSE_MS = 100;

/** The operator who asked for a reload expects a log line, even if nothing changed or the same error was logged before. */
async function reloadCatalog(catalog: CatalogSource, { config: { worker }, log }: Services): Promise<void> {
  try {
    await catalog.refresh();
    const { version } = catalog.current();
    const { error } = catalog.status();
    if (error === undefined) log.info('catalog_reloaded', { version, worker });
    else log.warn('catalog_reload_refused', { reason: error, in_force: version, worker });
  } catch (error) {
    log.warn('catalog_reload_failed', { error, worker });
  }
}

interface Relay extends RelayParts {
  readonly settlements: SettlementRetryQueue;
  readonly activeRequests: ActiveRequests;
  readonly lifetime: LongestLife;
  readonly upstreams: Pool;
  readonly metrics: Metrics;
  readonly dailyCosts: DailyCosts;
  readonly tags: RequestTags;
  readonly requestSlots: RequestSlots;
  /** What requests hold in memory. */
}

async function makeRelay(
  services: Services,
  catalog: CatalogSource,
  parts: WatchedParts & Pick<ServerParts, 'messages' | 'payments'>,
): Promise<Relay> {
  const { eventLoop, certificate, setupWatch, heartbeat, messages, payments } = parts;
  const { config, store, clock, log } = services;
  const { ledger } = services.ledger;
  const upstreams = new Pool(catalog.current(), clock, { house: houseBackend }, log);
  catalog.onChange((next) => upstreams.use(next));
  const lifetime = new LongestLife(catalog);
  const requestSlots: RequestSlots = new RequestSlots({
    max: slotsWithin(config.maxInFlight, openFileLimit(), certificate ? 'tls' : 'plain'),
    eventLoop,
    onShed: (reason) => metrics.shed(reason),
  });
  const settlements = new SettlementRetryQueue(ledger, log);
  const tokens = sharedTokenCounter(log);
  const metrics = composeMetrics(services, {
    heartbeat,
    backends: () => upstreams.list(),
    inFlight: () => requestSlots.size,
    eventLoop: () => eventLoop.delays(),
    certificateEndsAt: () => certificate?.endsAt(),
    setupProblems: () => setupWatch.problems(),
    clockAheadMs: () => services.clock.aheadMs,
    queues: () => ({ settlement_retries: settlements.waiting, token_counts: tokens.size }),
  });
  return {
    ledger,
    catalog: catalog.current,
    seenGroups: new SeenGroups(catalogFor),
    refreshCatalog: () => catalog.refresh(),
    upstreams,
    settlements,
    lifetime,
    activeRequests: new ActiveRequests({
      ledger,
      clock,
      log,
      leaseMs: config.leaseMs,
      longestMs: () => lifetime.longestMs(),
      requestSlots,
    }),
    metrics,
    spans: parts.telemetry?.spans,
    requestSlots,
    tokens,
    countWaitMs: config.countWaitMs,
    commentMs: config.commentMs,
    dailyCosts: new DailyCosts((day) => backendCosts(store.db, day), log),
    onLimitReached: (caller, limit) => messages.reachedLimits.note(lastingCaller(caller), limit),
    tags: await openTags(services),
    topUps: payments?.trigger,
    clock,
    log,
  };
}

/** Known before the first request. */
async function openTags({ store }: Services): Promise<RequestTags> {
  const tags = new RequestTags(store);
  await tags.refresh();
  return tags;
}

interface ServerParts extends WatchedParts {
  readonly services: Services;
  readonly catalog: CatalogSource;
  readonly settings: LiveServerSettings;
  readonly relay: Relay;
  readonly links: ImageLinks;
  readonly imageJobs: ImageJobs;
  readonly stored: StoredState;
  readonly consoleServices: ConsoleServices;
  readonly messages: MessageServices;
  readonly refusedCalls: RefusedCalls;
  readonly payments: Payments | undefined;
  readonly state: { readonly draining: boolean };
  readonly accessLog: AccessLog;
  readonly metrics: () => Promise<string>;
}

/** The parts that report the state of the server. */
interface WatchedParts {
  readonly eventLoop: EventLoop;
  readonly certificate: Certificate | undefined;
  readonly setupWatch: SetupWatch;
  readonly heartbeat: Heartbeat;
  readonly telemetry: Telemetry | undefined;
}

async function openServer(parts: Omit<ServerParts, 'messages'>): Promise<RunningServer> {
  const { relay, eventLoop, accessLog } = parts;
  const { config, clock, random, log } = parts.services;
  const callerAuth = openCallerAuth(parts);
  const files = Promise.withResolvers<ReadonlyMap<string, WebFile>>();
  const { host, port, publicUrl } = config;
  const shared = config.worker !== undefined;
  const tls = parts.certificate?.pair;
  const { requestSlots, activeRequests, metrics } = relay;
  const server = await startServer({
    host,
    port,
    publicUrl,
    shared,
    tls,
    router: routerOf(parts, callerAuth, files.promise),
    callerAuth,
    requestSlots,
    activeRequests,
    clock,
    random,
    log,
    eventLoop,
    accessLog,
    metrics,
    spans: parts.telemetry?.spans,
    takesTrace: config.passesTrace,
  });
  // Only now: a server that cannot listen should fail without waiting for the bundler.
  files.resolve(webFiles(log));
  return server;
}

function openCallerAuth({ services, relay, settings, catalog }: Omit<ServerParts, 'messages'>): CallerAuth {
  const { secret, accounts, log } = services;
  const pepper = secret.key('token pepper');
  const callerAuth = new CallerAuth(relay, {
    hashToken: tokenHasher(pepper),
    trustedProxies: settings.trustedProxies(),
    log,
    onExposed: (hash) =>
      void accounts
        .markExposed(hash)
        .catch((error: unknown) => log.error('exposed_token_not_marked', { error })),
  });
  catalog.onChange(() => callerAuth.trustProxies(settings.trustedProxies()));
  return callerAuth;
}

/** Everything that this server answers. */
function routerOf(
  parts: Omit<ServerParts, 'messages'>,
  callerAuth: CallerAuth,
  files: Promise<ReadonlyMap<string, WebFile>>,
): Router {
  const { catalog, relay, links, consoleServices, state, heartbeat } = parts;
  const { config, store, secret, clock, log } = parts.services;
  const idempotency = new Idempotency(new IdempotencyStore(store, clock), callerAuth, log);
  return allRoutes({
    api: {
      callerAuth,
      relay,
      links,
      imageJobs: parts.imageJobs,
      store,
      ...parts.stored,
      idempotency,
      refusedCalls: parts.refusedCalls,
      openApi: () => openApiDocument(OPERATIONS, config.publicUrl),
    },
    health: {
      draining: () => state.draining,
      storeAnswers: () => heartbeat.acceptsWrites(),
      metrics: parts.metrics,
      guard: new MetricsGuard(metricsToken(config.metricsToken, secret)),
    },
    payments: parts.payments,
    console: consoleServices.console,
    site: {
      files,
      publicPages: makePublicPages({
        catalog,
        backends: relay.upstreams,
        store,
        clock,
        publicUrl: config.publicUrl,
        sessions: consoleServices.auth.sessions,
        version: releaseName(currentRelease()),
        apiIsUp: async () => !state.draining && (await heartbeat.acceptsWrites()),
      }),
    },
  });
}

/**
 * Running requests may finish within the grace period; the rest are cut off with an error, metered and closed. Jobs that
 * another process can go on with are left to it at once.
 */
async function drain(
  { activeRequests, settlements, log }: Relay,
  { imageJobs, background }: { imageJobs: ImageJobs; background: StoredState['background'] },
  graceMs: number,
): Promise<void> {
  await imageJobs.handOver().catch((error: unknown) => log.warn('image_jobs_not_handed_over', { error }));
  if (!(await activeRequests.idle(graceMs))) {
    await background.handOver().catch((error: unknown) => log.warn('responses_not_handed_over', { error }));
    activeRequests.cutAll(
      new Fault('service_unavailable', 'This node is shutting down. Try again.', { retryAfterMs: 1_000 }),
    );
    await activeRequests.idle(CUT_TIMEOUT_MS);
  }
  await Promise.all([
    settlements.drained(CUT_TIMEOUT_MS),
    imageJobs.ended(CUT_TIMEOUT_MS),
    background.ended(CUT_TIMEOUT_MS),
  ]);
}

const CUT_TIMEOUT_MS = 5_000;

/** Follows the setting: a change in the file applies from the next answer on. */
function openAccessLog(
  { log, clock }: Services,
  { catalog, settings }: { catalog: Pick<CatalogSource, 'onChange'>; settings: LiveServerSettings },
  opened: AsyncDisposableStack,
): AccessLog {
  const accessLog = new AccessLog({ log, now: () => clock.now() });
  opened.defer(() => accessLog.written());
  accessLog.setShare(settings.accessShare());
  catalog.onChange(() => accessLog.setShare(settings.accessShare()));
  return accessLog;
}

/** Logs how many files this process may open, and what is wrong with its set-up. */
function logSetup({ config: { maxInFlight, worker }, log }: Services, setupWatch: SetupWatch): void {
  const limit = openFileLimit();
  log.info('open_files_limit', {
    limit: limit ?? 'none',
    requests_together: slotsWithin(maxInFlight, limit),
  });
  // Logged by one worker. Not awaited: a check may take long, and no request depends on its result.
  if ((worker ?? 0) === 0) void setupWatch.check();
}

const START_MS = 2_000;

/**
 * Starts Bun's thread for outgoing requests. Otherwise it starts with the first call to a backend, when clients may have
 * taken every file descriptor, and Bun ends the process if that thread finds none left.
 */
async function startHttpThread(): Promise<void> {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('') });
  try {
    await fetch(server.url, { keepalive: false, signal: AbortSignal.timeout(START_MS) });
  } catch {
    // The request may have gone through a proxy. The thread runs all the same.
  } finally {
    await server.stop(true);
  }
}
