#!/usr/bin/env bun
import './reflect-metadata.ts';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { builtinCatalog } from '../catalog/builtin.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { longestRequestMs } from '../catalog/longest-request.ts';
import { openCatalog } from '../catalog/source.ts';
import { runCli } from '../cli/cli.ts';
import type { CheckResult, CliServices } from '../cli/command.ts';
import { fileCatalog, storeCatalog, type CommandCatalog } from '../cli/command-catalog.ts';
import { StandardInput } from '../cli/terminal.ts';
import { houseBackend } from '../house/backend.ts';
import { systemClock, type Clock } from '../std/clock.ts';
import { silentLog, stderrLog, type Log } from '../std/log.ts';
import { readConfig, type Config } from './config.ts';
import { aheadOfDatabaseMs } from './database-clock.ts';
import { actAsOwnerOf } from './data-folder.ts';
import { readEnvironment, type ServerEnvironment, machineUser } from './environment-file.ts';
import { effectiveConfiguration, type FileValues } from './configuration.ts';
import {
  openAnyCatalog,
  openStored,
  closeServices,
  openConfiguredLedger,
  openConfiguredStore,
  openDataFolderForMove,
  openServices,
  type Services,
} from './services.ts';
import { runSetupChecks } from './setup-checks.ts';
import { checkTls, SERVER_SETTINGS, serverSettings, settingsFolder } from './server-settings.ts';

/** `tollgate serve` runs the server; every other command runs and exits. */
const argv = process.argv.slice(2);
/** A person waits for a command; a server may wait longer for its database. */
const COMMAND_WAIT_MS = 4_000;
const printError = (line: string): void => console.error(line);
let environment: ServerEnvironment | undefined;
// Before root acts as somebody else.
const user = machineUser();

// `serve` with further arguments is a request for help, or a mistake.
process.exitCode = argv.length === 1 && argv[0] === 'serve' ? await runServer() : await runCommand();

/** Loaded only here: the server is most of the program, and no other command needs it. */
async function runServer(): Promise<number> {
  const { serve } = await import('./serve.ts');
  return await serve(process.env, printError);
}

/**
 * Read when first asked for, so that help needs no configuration, and only once: a command may go on as a user who may
 * not read the file.
 */
function readServerEnvironment(): ServerEnvironment {
  if (!environment) {
    environment = readEnvironment(process.env);
    if (environment.unreadable !== undefined) printError(`warning: ${environment.unreadable}`);
  }
  return environment;
}

function readEnv(): ServerEnvironment['env'] {
  return readServerEnvironment().env;
}

async function runCommand(): Promise<number> {
  return await runCli(
    argv,
    {
      get env() {
        return readEnv();
      },
      clock: systemClock,
      print: (line) => console.log(line),
      warn: printError,
      machineUser: user,
      passwordInput: new StandardInput(),
      // Read when asked for: a mistake in the environment is reported like any other.
      get address() {
        return readConfig(readEnv());
      },
      dataDirAsOwner: () => storeConfig().dataDir,
      builtIn: { house: houseBackend },
      fileSettings: SERVER_SETTINGS,
      checkTls: (catalog, folder) => {
        const { catalogPath, host } = readConfig(readEnv());
        const { tls } = serverSettings(catalog, folder ?? settingsFolder(catalogPath));
        return checkTls(tls, { host, now: systemClock.now() });
      },
      setupChecks,
      configuration: async () =>
        effectiveConfiguration(
          readServerEnvironment(),
          await readFileValues(commandConfig(), stderrLog, systemClock),
        ),
      withStore: async (work) => {
        const store = await openConfiguredStore(storeConfig(), stderrLog, systemClock);
        try {
          return await work(store);
        } finally {
          await store.close();
        }
      },
      withCatalog,
      liveCheck: async (request) => {
        const { liveCheck } = await import('./live/live-check.ts');
        return await liveCheck(request, { clock: systemClock, builtIn: { house: houseBackend } });
      },
      confirm: process.stdin.isTTY && process.stdout.isTTY ? confirmed : undefined,
      withServices: async (work) =>
        await withOpened(await openServices(storeConfig(), stderrLog, systemClock), work),
      withMovedFolder: async (work) =>
        await withOpened(await openDataFolderForMove(storeConfig(), stderrLog, systemClock), work),
      withMoveTarget: async (databaseUrl, work) => {
        const config = { ...storeConfig(), databaseUrl };
        const store = await openConfiguredStore(config, stderrLog, systemClock, 'for a move');
        const ledger = openConfiguredLedger(store, config, stderrLog, systemClock);
        try {
          return await work({ store, ledger: ledger.ledger });
        } finally {
          await ledger.close();
          await store.close();
        }
      },
    },
    printError,
  );
}

async function withOpened<T>(services: Services, work: (services: CliServices) => Promise<T>): Promise<T> {
  try {
    const { store, accounts, teams, operators, secret, images, imageStorages } = services;
    return await work({
      store,
      accounts,
      teams,
      operators,
      ledger: services.ledger.ledger,
      secret,
      images,
      imageStorages,
      catalog: () => currentCatalog(services),
      receiptsDays: () => receiptsDays(services),
      longestRequestMs: () => longestMs(services),
    });
  } finally {
    await closeServices(services);
  }
}

async function withCatalog<T>(work: (catalog: CommandCatalog) => Promise<T>): Promise<T> {
  const config = commandConfig();
  if (config.catalogPath !== undefined)
    return await work(fileCatalog(config.catalogPath, { env: config.env, settings: SERVER_SETTINGS }));
  const services = await openServices(storeConfig(), stderrLog, systemClock);
  try {
    const catalog = await openStored(services);
    try {
      return await work(storeCatalog(catalog, services));
    } finally {
      catalog.close();
    }
  } finally {
    await closeServices(services);
  }
}

async function confirmed(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(?:es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}

function commandConfig(): Config {
  return { ...readConfig(readEnv()), databaseWaitMs: COMMAND_WAIT_MS };
}

async function setupChecks(catalog: Catalog | undefined): Promise<readonly CheckResult[]> {
  const config = storeConfig();
  const settings = catalog && serverSettings(catalog, settingsFolder(config.catalogPath));
  const aheadMs = await measureAheadMs(config);
  return await runSetupChecks({ config, settings, clock: systemClock, aheadMs });
}

/** `undefined` where the database cannot be used, which another check says. */
async function measureAheadMs(config: Config): Promise<number | undefined> {
  if (config.databaseUrl === undefined) return undefined;
  try {
    const store = await openConfiguredStore(config, silentLog, systemClock);
    try {
      return await aheadOfDatabaseMs(store);
    } finally {
      await store.close();
    }
  } catch {
    return undefined;
  }
}

/** For whatever opens the store or its folder. */
function storeConfig(): Config {
  const config = commandConfig();
  actAsOwnerOf(config.dataDir);
  return config;
}

/** The catalog that a server would use now. */
async function currentCatalog(services: Services): Promise<Catalog> {
  const catalog = await openAnyCatalog(services);
  catalog.close();
  return catalog.current();
}

async function receiptsDays(services: Services): Promise<number | undefined> {
  const catalog = await currentCatalog(services);
  return serverSettings(catalog, settingsFolder(services.config.catalogPath)).receiptsDays;
}

/** The longest request by the catalog in force; `undefined` if it cannot be read. */
async function longestMs(services: Services): Promise<number | undefined> {
  try {
    return longestRequestMs(await currentCatalog(services));
  } catch {
    // A mistake in the catalog must not prevent a check of the books.
    return undefined;
  }
}

/** The settings in the file, or in the stored catalog; a store that does not exist yet is not created for this. */
async function readFileValues(config: Config, log: Log, clock: Clock): Promise<FileValues | undefined> {
  const { catalogPath, databaseUrl, dataDir, env } = config;
  if (catalogPath !== undefined) {
    const shared = { builtin: builtinCatalog, settings: SERVER_SETTINGS, env, log, clock };
    const source = openCatalog({ path: catalogPath, ...shared });
    source.close();
    return valuesOf(source.current(), catalogPath);
  }
  if (databaseUrl === undefined && !existsSync(join(dataDir, 'tollgate.db'))) return undefined;
  const services = await openServices(storeConfig(), log, clock);
  try {
    const catalog = await openAnyCatalog(services);
    catalog.close();
    return valuesOf(catalog.current(), 'the catalog in the store');
  } finally {
    await closeServices(services);
  }
}

function valuesOf({ settings }: Catalog, from: string): FileValues {
  return { from, values: new Map([...(settings ?? [])].map(([key, { value }]) => [key, value])) };
}
