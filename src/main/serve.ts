import { isatty } from 'node:tty';
import { stderrLog } from '../std/log.ts';
import { StartupError } from '../std/startup-error.ts';
import { BUN_SETTINGS } from './bun-settings.ts';
import { startTollgate, type Tollgate } from './compose.ts';
import { readConfig, type Config } from './config.ts';
import type { CpuProfile } from './cpu-profile.ts';
import { actAsOwnerOf } from './data-folder.ts';
import { readEnvironment } from './environment-file.ts';
import { STARTUP_ERROR_EXIT, WORKER_VARIABLE, Workers } from './workers.ts';

type Env = Record<string, string | undefined>;

/** Runs the server until a signal stops it; resolves with the exit code. */
export async function serve(given: Env, printError: (line: string) => void): Promise<number> {
  const lacksSettings = Object.keys(BUN_SETTINGS).some((name) => given[name] === undefined);
  if (lacksSettings && process.execve && !isProfiled(given))
    process.execve(process.execPath, ownCommand(), { ...BUN_SETTINGS, ...definedOnly(given) });
  // During startup there is nothing to reload or to profile, but the signals must not terminate the process either.
  let reload = (): void => undefined;
  let profile = (): void => undefined;
  onHangup(() => reload());
  process.on('SIGUSR2', () => profile());
  try {
    const { env } = readEnvironment(given);
    const config = readConfig(env);
    actAsOwnerOf(config.dataDir);
    if (config.workers > 1 && config.worker === undefined) {
      const workers = new Workers({
        count: config.workers,
        command: ownCommand(),
        // They have what the file says, which a worker that is not root may be unable to read.
        env: { ...definedOnly(env), TOLLGATE_ENV_FILE: '/dev/null' },
        log: stderrLog,
      });
      reload = () => workers.tell('SIGHUP');
      profile = () => workers.tell('SIGUSR2');
      return await workers.run();
    }
    const tollgate = await startTollgate(config, stderrLog);
    reload = oneAtATime(() => tollgate.reload());
    profile = profilerIn(config.dataDir);
    // Before anybody is told that it is ready: whoever knows may send the signal.
    const signalled = stopSignal();
    if ((config.worker ?? 0) === 0) printAddresses(tollgate, config);
    if (config.worker !== undefined) reportReady();
    return await untilStopped(tollgate, config.drainMs, signalled);
  } catch (thrown) {
    if (!(thrown instanceof StartupError)) throw thrown;
    printError(`Tollgate cannot start: ${thrown.message}`);
    return given[WORKER_VARIABLE] === undefined ? 1 : STARTUP_ERROR_EXIT;
  }
}

/** Tells the parent process that this worker is ready; a worker whose parent is gone drains as on SIGTERM. */
function reportReady(): void {
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.send?.('ready');
}

/**
 * The command line of this process. A compiled binary contains its program, so the program's path is left out; and options
 * of Bun reach it by `BUN_OPTIONS` alone, because it takes every word for its own.
 */
function ownCommand(): string[] {
  if (isCompiled()) return [process.execPath, ...process.argv.slice(2)];
  return [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
}

/** Bun's profiler stops threads by a signal that would end a process which has just started over. */
function isProfiled(env: Env): boolean {
  return [env['BUN_OPTIONS'] ?? '', ...process.execArgv].some((option) => option.includes('--cpu-prof'));
}

/** How somebody in a shell runs another command of what is running here. */
function commandOfPeople(): string {
  if (isCompiled()) return process.execPath;
  return Bun.main.endsWith('.ts') ? 'npm run -s tollgate --' : 'npx tollgate';
}

function isCompiled(): boolean {
  return Bun.main.startsWith('/$bunfs/');
}

/** Loaded when it is first asked for: few servers ever are. */
function profilerIn(folder: string): () => void {
  let loaded: Promise<CpuProfile> | undefined;
  return () => {
    loaded ??= import('./cpu-profile.ts').then((module) => new module.CpuProfile(folder, stderrLog));
    void loaded.then((profile) => profile.toggle());
  };
}

function stopSignal(): Promise<string> {
  return new Promise<string>((resolve) => {
    process.once('SIGTERM', () => resolve('SIGTERM'));
    process.once('SIGINT', () => resolve('SIGINT'));
  });
}

/** The first signal drains; a second one exits at once, and the ledger recovers from it as from a crash. */
async function untilStopped(
  tollgate: Tollgate,
  drainMs: number,
  signalled: Promise<string>,
): Promise<number> {
  const signal = await signalled;
  // SIGINT is a person at a terminal, not a service manager behind a load balancer.
  const pauseMs = signal === 'SIGTERM' ? drainMs : 0;
  stderrLog.info('draining', { signal, served_for_ms: pauseMs });
  const exitNow = (): void => process.exit(130);
  process.once('SIGTERM', exitNow);
  process.once('SIGINT', exitNow);
  tollgate.announceStop();
  await Bun.sleep(pauseMs * (1 - CLOSING_SHARE - REFUSING_SHARE));
  tollgate.closeAfterAnswers();
  await Bun.sleep(pauseMs * CLOSING_SHARE);
  tollgate.refuseConnections();
  // A timer comes after what has arrived, however busy the thread was.
  await Bun.sleep(pauseMs * REFUSING_SHARE);
  await tollgate.stop();
  stderrLog.info('stopped');
  // Idle client connections may keep the event loop alive; everything of ours is closed.
  process.exit(0);
}

/** A late part of the pause: long enough for a busy connection of a proxy to carry one more answer. */
const CLOSING_SHARE = 0.15;
/** The last part: long enough for a connection that was begun before it to be made, and its request to arrive. */
const REFUSING_SHARE = 0.05;

function printAddresses({ url, setupLink }: Tollgate, config: Config): void {
  const { dataDir, databaseUrl, publicUrl } = config;
  const reached = publicUrl ?? url;
  const lines = [
    '',
    `  Tollgate is ready at ${url}`,
    '',
    setupLink === undefined
      ? `  Console        ${reached}/`
      : `  First account  ${setupLink}   (opens once, within 30 minutes)`,
    `  or in a shell  ${commandOfPeople()} account create you@example.com --balance 5 --json`,
    `  API            ${reached}/api/public/v1   ·   OpenAI and Anthropic clients: ${reached}/v1`,
    `  Data           ${databaseUrl === undefined ? dataDir : 'Postgres'}`,
    '',
  ];
  console.log(lines.join('\n'));
}

function definedOnly(env: Env): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}

const STANDARD_STREAMS = [0, 1, 2];

/**
 * SIGHUP has two meanings. From an operator or a service manager it is a request to reload the configuration; from the
 * system it means that the terminal was closed, and then the server should stop too.
 */
function onHangup(reload: () => void): void {
  const terminal = STANDARD_STREAMS.find((stream) => isatty(stream));
  process.on('SIGHUP', () => {
    if (terminal !== undefined && !isatty(terminal)) process.kill(process.pid, 'SIGTERM');
    else reload();
  });
}

/** Limits `work` to one run at a time, with at most one more waiting, however often it is called. */
function oneAtATime(work: () => Promise<void>): () => void {
  let last = Promise.resolve();
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    last = last.then(() => {
      isWaiting = false;
      return work();
    });
  };
}
