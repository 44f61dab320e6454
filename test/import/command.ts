import { fileCatalog, storeCatalog } from '../../src/cli/command-catalog.ts';
import { runCli } from '../../src/cli/cli.ts';
import type { CliContext } from '../../src/cli/command.ts';
import { NO_PASSWORD } from '../../src/cli/testing/password-input.ts';
import { houseBackend } from '../../src/house/backend.ts';
import { liveCheck } from '../../src/main/live/live-check.ts';
import { openStored, type Services } from '../../src/main/services.ts';
import { SERVER_SETTINGS } from '../../src/main/server-settings.ts';
import { systemClock } from '../../src/std/clock.ts';

export interface CommandRun {
  readonly code: number;
  readonly lines: readonly string[];
  readonly errors: readonly string[];
}

export interface CommandOptions {
  readonly env: Readonly<Record<string, string>>;
  /** The operator's file; otherwise the catalog in this store. */
  readonly path?: string;
  readonly services?: Services;
  /** What somebody at the terminal says. */
  readonly answer?: boolean;
}

/** Runs a command as the program does, on a catalog file or a real store. */
export async function runCommand(
  words: readonly string[],
  { env, path, services, answer }: CommandOptions,
): Promise<CommandRun> {
  const lines: string[] = [];
  const errors: string[] = [];
  const builtIn = { house: houseBackend };
  const context: CliContext = {
    env,
    clock: systemClock,
    print: (line) => void lines.push(line),
    warn: (line) => void errors.push(line),
    passwordInput: NO_PASSWORD,
    dataDirAsOwner: () => '',
    machineUser: 'deploy',
    setupChecks: () => Promise.resolve([]),
    address: { host: '127.0.0.1', port: 0 },
    builtIn,
    fileSettings: SERVER_SETTINGS,
    checkTls: () => ({ ok: true, line: '' }),
    configuration: () => Promise.reject(new Error('not needed here')),
    withStore: () => Promise.reject(new Error('not needed here')),
    withMovedFolder: () => Promise.reject(new Error('not needed here')),
    withMoveTarget: () => Promise.reject(new Error('not needed here')),
    withServices: () => Promise.reject(new Error('not needed here')),
    liveCheck: (request) => liveCheck(request, { clock: systemClock, builtIn }),
    withCatalog: async (work) => {
      if (path !== undefined) return await work(fileCatalog(path, { env, settings: SERVER_SETTINGS }));
      if (!services) throw new Error('neither a file nor a store');
      const catalog = await openStored(services);
      try {
        return await work(storeCatalog(catalog, services));
      } finally {
        catalog.close();
      }
    },
    ...(answer === undefined ? {} : { confirm: () => Promise.resolve(answer) }),
  };
  const code = await runCli(words, context, (line) => void errors.push(line));
  return { code, lines, errors };
}
