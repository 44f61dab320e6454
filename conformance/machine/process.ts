import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';

export interface Launch {
  readonly name: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Where its log goes. */
  readonly folder: string;
  readonly cwd?: string;
  /** It is up when something listens here. */
  readonly port: number;
  /** How long that may take. */
  readonly startMs?: number;
}

export interface Launched {
  readonly pid: number;
  readonly port: number;
  readonly logFile: string;
  readonly stop: () => Promise<void>;
  /** To it and all that it started. */
  readonly signal: (name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT') => void;
  readonly exited: Promise<unknown>;
}

const START_MS = 30_000;
const STOP_MS = 5_000;
const alive = new Set<Bun.Subprocess>();
// However the run ends, nothing that it started stays behind.
process.on('exit', () => alive.forEach((child) => signalGroup(child.pid, 'SIGKILL')));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

/** Starts a server under test and waits until it listens. */
export async function launch({
  name,
  command,
  env = {},
  folder,
  cwd,
  port,
  startMs = START_MS,
}: Launch): Promise<Launched> {
  const path = join(folder, `${name.replaceAll(/\W+/g, '-')}.log`);
  const log = openSync(path, 'a');
  const child = Bun.spawn([...command], {
    stdio: ['ignore', log, log],
    env: { ...process.env, ...env },
    // A group of its own, so that a signal reaches what it starts itself.
    detached: true,
    ...(cwd === undefined ? {} : { cwd }),
  });
  closeSync(log);
  alive.add(child);
  void child.exited.then(() => alive.delete(child));
  const deadline = performance.now() + startMs;
  while (!(await listens(port))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      signalGroup(child.pid, 'SIGKILL');
      throw new Error(`${name} did not start: ${readFileSync(path, 'utf8').trim().slice(-2_000)}`);
    }
    await Bun.sleep(50);
  }
  return {
    pid: child.pid,
    port,
    logFile: path,
    stop: async () => {
      child.kill('SIGTERM');
      const stopped = await Promise.race([
        child.exited.then(() => true),
        Bun.sleep(STOP_MS).then(() => false),
      ]);
      // What it started goes with it, also where it forgot to see to that itself.
      signalGroup(child.pid, 'SIGKILL');
      if (!stopped) await child.exited;
    },
    signal: (name) => signalGroup(child.pid, name),
    exited: child.exited,
  };
}

function signalGroup(leader: number, name: NodeJS.Signals): void {
  try {
    process.kill(-leader, name);
  } catch {
    // The whole group has ended.
  }
}

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  // A TCP server's address is an object; only a pipe's is a string.
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

async function listens(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1');
  socket.once('connect', () => resolve(true));
  socket.once('error', () => resolve(false));
  const answer = await promise;
  socket.destroy();
  return answer;
}
