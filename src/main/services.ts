import { hostname } from 'node:os';
import type { Config } from './config.ts';
import { Accounts } from '../identity/accounts/accounts.ts';
import { openSecret, type Secret } from '../identity/accounts/secret.ts';
import { openLedger, type OpenLedger } from '../ledger/open-ledger.ts';
import { makeNotices, type Notices } from '../outbox/notices.ts';
import { makeOutbox, type Outbox } from '../outbox/outbox.ts';
import type { Clock } from '../std/clock.ts';
import { randomPart, systemRandom, type Random } from '../std/ids.ts';
import type { Log } from '../std/log.ts';
import { openStore, type Store } from '../store/store.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';

/** What the command line and the server both need: the store, its secret and its ledger. */
export interface Services {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly store: Store;
  readonly secret: Secret;
  readonly ledger: OpenLedger;
  readonly accounts: Accounts;
  readonly outbox: Outbox;
  readonly notices: Notices;
}

export async function openServices(
  config: Config,
  log: Log,
  clock: Clock,
  random: Random = systemRandom,
): Promise<Services> {
  const { dataDir, databaseUrl, databaseDeadlineMs } = config;
  const store = await openConfiguredStore(config, log, clock);
  try {
    const shared = databaseUrl !== undefined;
    const secret = await openSecret({
      given: config.secret,
      dataDir,
      shared,
      db: store.db,
      now: clock.now(),
    });
    const ledger = openLedger(store, {
      node: `${hostname()}-${randomPart(8)}`,
      clock,
      log,
      leaseMs: config.leaseMs,
      deadlineMs: databaseDeadlineMs,
    });
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
    return { config, clock, random, log, store, secret, ledger, accounts, outbox, notices };
  } catch (error) {
    await store.close();
    throw error;
  }
}

export async function openConfiguredStore(config: Config, log: Log, clock: Clock): Promise<Store> {
  return await openStore({
    dataDir: config.dataDir,
    databaseUrl: config.databaseUrl,
    log,
    clock,
    ledgerSql: LEDGER_SQL,
    databaseDeadlineMs: config.databaseDeadlineMs,
    databaseWaitMs: config.databaseWaitMs,
    databaseConnections: config.databaseConnections,
  });
}

export async function closeServices({ ledger, store }: Services): Promise<void> {
  await ledger.close();
  await store.close();
}
