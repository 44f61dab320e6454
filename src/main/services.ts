import { hostname } from 'node:os';
import { ImageStore } from '../activity/image-store.ts';
import { builtinCatalog } from '../catalog/builtin.ts';
import type { CatalogSource } from '../catalog/catalog.ts';
import { openCatalog } from '../catalog/source.ts';
import { openStoredCatalog, type StoredCatalog, type StoredCatalogOptions } from '../catalog/stored.ts';
import { Accounts } from '../identity/accounts/accounts.ts';
import { Operators } from '../identity/accounts/operators.ts';
import { Teams } from '../identity/accounts/teams.ts';
import { openSecret, type Secret } from '../identity/accounts/secret.ts';
import { openLedger, type OpenLedger } from '../ledger/open-ledger.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';
import { makeNotices, type Notices } from '../outbox/notices.ts';
import { makeOutbox, type Outbox } from '../outbox/outbox.ts';
import { CorrectedClock, type Clock } from '../std/clock.ts';
import { randomPart, systemRandom, type Random } from '../std/ids.ts';
import type { Log } from '../std/log.ts';
import { ImageFiles } from '../store/image-files.ts';
import type { ImageStorages } from '../store/image-objects.ts';
import { ImageBucket } from '../store/image-s3.ts';
import { openStore, type Store } from '../store/store.ts';
import { requireWallets } from '../store/other-nodes.ts';
import type { Config } from './config.ts';
import { aheadOfDatabaseMs, storeNow } from './database-clock.ts';
import { SERVER_SETTINGS } from './server-settings.ts';

/** What the command line and the server both need: the store, its secret and its ledger. */
export interface Services {
  readonly config: Config;
  readonly clock: CorrectedClock;
  readonly random: Random;
  readonly log: Log;
  readonly store: Store;
  readonly secret: Secret;
  readonly ledger: OpenLedger;
  readonly accounts: Accounts;
  readonly teams: Teams;
  readonly operators: Operators;
  readonly outbox: Outbox;
  readonly notices: Notices;
  readonly images: ImageStore;
  readonly imageStorages: ImageStorages;
}

export async function openServices(
  config: Config,
  log: Log,
  machineClock: Clock,
  random: Random = systemRandom,
): Promise<Services> {
  const store = await openConfiguredStore(config, log, machineClock);
  return await servicesOf(store, { config, log, machineClock, random });
}

/** Of the data folder, also while it is closed to everybody else because it is moved to Postgres. */
export async function openDataFolderForMove(config: Config, log: Log, clock: Clock): Promise<Services> {
  const ofFolder = { ...config, databaseUrl: undefined };
  const store = await openConfiguredStore(ofFolder, log, clock, 'for a move');
  return await servicesOf(store, { config: ofFolder, log, machineClock: clock, random: systemRandom });
}

interface ServicesParts {
  readonly config: Config;
  readonly log: Log;
  readonly machineClock: Clock;
  readonly random: Random;
}

/** Closes the store where it cannot be used. */
async function servicesOf(
  store: Store,
  { config, log, machineClock, random }: ServicesParts,
): Promise<Services> {
  const { dataDir, databaseUrl } = config;
  try {
    const clock = new CorrectedClock(machineClock);
    clock.aheadMs = await aheadOfDatabaseMs(store);
    const shared = databaseUrl !== undefined;
    const secret = await openSecret({
      given: config.secret,
      dataDir,
      shared,
      db: store.db,
      now: clock.now(),
    });
    const ledger = openConfiguredLedger(store, config, log, machineClock);
    const outbox = makeOutbox({ db: store.db, key: secret.key('outbox'), clock, random, log });
    const notices = makeNotices({ outbox, clock, sendsMail: config.mail !== undefined });
    const accounts = new Accounts({
      store,
      ledger: ledger.ledger,
      pepper: secret.key('token pepper'),
      clock,
      random,
      notices,
    });
    const teams = new Teams({
      store,
      ledger: ledger.ledger,
      pepper: secret.key('token pepper'),
      clock,
      random,
      mostAccounts: config.teamAccounts,
    });
    const operators = new Operators({ store, pepper: secret.key('token pepper'), clock });
    const imageStorages = imageStoragesOf(config);
    const quotaBytes = config.imageQuotaBytes;
    const images = new ImageStore({ store, storages: imageStorages, clock, random, log, quotaBytes });
    const messages = { outbox, notices };
    return {
      config,
      clock,
      random,
      log,
      store,
      secret,
      ledger,
      accounts,
      teams,
      operators,
      ...messages,
      images,
      imageStorages,
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Files of the data folder stay readable when new images go to a bucket. */
function imageStoragesOf({ dataDir, databaseUrl, imageBucket }: Config): ImageStorages {
  return [
    ...(imageBucket ? [new ImageBucket(imageBucket)] : []),
    ...(databaseUrl === undefined ? [new ImageFiles(dataDir)] : []),
  ];
}

/** The ledger books by the database's clock itself. */
export function openConfiguredLedger(store: Store, config: Config, log: Log, clock: Clock): OpenLedger {
  return openLedger(store, {
    node: `${hostname()}-${randomPart(8)}`,
    clock,
    log,
    leaseMs: config.leaseMs,
    deadlineMs: config.databaseDeadlineMs,
  });
}

export async function openConfiguredStore(
  config: Config,
  log: Log,
  clock: Clock,
  purpose: 'to use it' | 'for a move' = 'to use it',
): Promise<Store> {
  return await openStore({
    dataDir: config.dataDir,
    databaseUrl: config.databaseUrl,
    log,
    clock,
    ledgerSql: LEDGER_SQL,
    databaseDeadlineMs: config.databaseDeadlineMs,
    databaseWaitMs: config.databaseWaitMs,
    databaseConnections: config.databaseConnections,
    forMove: purpose === 'for a move',
  });
}

export async function closeServices({ ledger, store, log }: Services): Promise<void> {
  await ledger.close();
  await store.close();
  // Closed last: the others may still log while they are closed.
  log.endBursts();
}

/** The operator's file, if there is one; otherwise the catalog in the store, which the console edits. */
export async function openAnyCatalog(services: Services): Promise<CatalogSource | StoredCatalog> {
  const { config, log, clock } = services;
  if (config.catalogPath === undefined) return await openStored(services);
  const shared = { builtin: builtinCatalog, env: config.env, settings: SERVER_SETTINGS, log, clock };
  return openCatalog({ path: config.catalogPath, ...shared });
}

export async function openStored(
  { config, store, secret, log, clock }: Services,
  more: Pick<StoredCatalogOptions, 'leadMs'> = {},
): Promise<StoredCatalog> {
  return await openStoredCatalog({
    requireGroups: () => requireWallets(store),
    now: () => storeNow(store, clock),
    db: store.db,
    durable: () => store.durable(),
    sealingKey: secret.key('provider keys'),
    builtin: builtinCatalog,
    env: config.env,
    settings: SERVER_SETTINGS,
    log,
    clock,
    ...more,
  });
}
