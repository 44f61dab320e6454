import { nextTurn } from '../std/turns.ts';
import { openFileLimit } from '../std/open-files.ts';
import {
  openClientSockets,
  openFileNumbers,
  type ClientSocket,
  type ClientSockets,
} from './client-sockets.ts';
import type { TlsFront } from './tls-front.ts';

interface IdleConnectionsOptions {
  readonly serverPort: number;
  /** The ports of the clients whose requests are being answered: their connections are never closed. */
  readonly portsInUse: () => ReadonlySet<number>;
  /** The client's address behind a forwarded connection, by the connection's port. */
  readonly addressOf?: (clientPort: number) => string | undefined;
  /** For tests. */
  readonly firstRequestMs?: number | undefined;
}

interface GuardedServer extends Pick<IdleConnectionsOptions, 'portsInUse' | 'firstRequestMs'> {
  readonly port: number;
  /** Terminates TLS in front of it. */
  readonly front: Pick<TlsFront, 'port' | 'peerOf'> | undefined;
}

/** A client that has not sent a whole request by then, byte by byte or not at all, is cut off. */
const FIRST_REQUEST_MS = 30_000;
/** Longer than any stream is silent. Before that, a connection that has been answered is not taken for idle. */
const SILENT_STREAM_MS = 20_000;
/** A share of the files that a process may have open. */
const CROWDED_SHARE = 0.5;
const ADDRESS_SHARE = 1 / 8;
const ALL_SHARE = 1 / 4;
/**
 * Looking at thousands of connections takes a while: the pause before the next look is this many times as long, within
 * these bounds.
 */
const PAUSE = { timesSweep: 200, leastMs: 1_000, mostMs: 10_000 };
const CROWDED_PAUSE = { timesSweep: 10, leastMs: 250, mostMs: 1_000 };
/** Looked at in one step of the event loop. */
const FILES_PER_STEP = 2_048;
/** On a system without a limit of its own. */
const UNLIMITED_FILES = 65_536;

/**
 * With TLS, connections are checked on both sides: at the front, because some clients never finish their handshake, and
 * behind it, because only there can it be seen that a client has sent no request.
 */
export function guardConnections({ front, port, ...options }: GuardedServer): { stop(): void } {
  const behind = { ...options, serverPort: port };
  if (!front) return closeIdleConnections(behind);
  const clientsInUse = (): Set<number> =>
    new Set([...options.portsInUse()].flatMap((inner) => front.peerOf(inner)?.port ?? []));
  const guards = [
    closeIdleConnections({ ...options, serverPort: front.port, portsInUse: clientsInUse }),
    closeIdleConnections({ ...behind, addressOf: (inner) => front.peerOf(inner)?.address }),
  ];
  return { stop: () => guards.forEach((guard) => guard.stop()) };
}

/**
 * Closes connections that make no request. Each takes a file, and a process without files serves nobody: so the time
 * for the first request is bounded, and once half of the files are in use, one address may keep an eighth of them in idle
 * connections, and all addresses together a quarter.
 *
 * Only on Linux. Elsewhere a connection without a byte is closed by the server's own timeout.
 */
function closeIdleConnections(options: IdleConnectionsOptions): { stop(): void } {
  const sockets = openClientSockets();
  if (!sockets) return { stop: () => undefined };
  const sweeper = new IdleSweeper(sockets, options);
  let isStopped = false;
  let timer: Timer;
  const schedule = (ms: number): void => {
    timer = setTimeout(() => void run(), ms);
    timer.unref();
  };
  const run = async (): Promise<void> => {
    const startedAt = performance.now();
    const isCrowded = await sweeper.sweep();
    const tookMs = performance.now() - startedAt;
    const { timesSweep, leastMs, mostMs } = isCrowded ? CROWDED_PAUSE : PAUSE;
    if (!isStopped) schedule(Math.min(Math.max(timesSweep * tookMs, leastMs), mostMs));
  };
  schedule(PAUSE.leastMs);
  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

class IdleSweeper {
  readonly #sockets: ClientSockets;
  readonly #options: IdleConnectionsOptions;
  readonly #maxFiles = openFileLimit() ?? UNLIMITED_FILES;
  /** The clients' ports by file, as the last sweep found them. */
  #seen: ReadonlyMap<number, number> = new Map();

  constructor(sockets: ClientSockets, options: IdleConnectionsOptions) {
    this.#sockets = sockets;
    this.#options = options;
  }

  /** Returns whether the files are becoming scarce. */
  async sweep(): Promise<boolean> {
    const files = openFileNumbers(this.#maxFiles);
    const isCrowded = files.length > this.#maxFiles * CROWDED_SHARE;
    const found = await this.#among(files);
    const inUse = this.#options.portsInUse();
    // One that has come since the last sweep may have sent a request that was not read yet.
    const idle = found.filter(
      (socket) => this.#seen.get(socket.file) === socket.port && !inUse.has(socket.port) && isIdle(socket),
    );
    const excess = isCrowded ? excessConnections(idle, limitsFor(this.#maxFiles)) : [];
    const { firstRequestMs = FIRST_REQUEST_MS } = this.#options;
    const late = idle.filter(({ wasSentTo, idleMs }) => !wasSentTo && idleMs > firstRequestMs);
    for (const socket of new Set([...late, ...excess])) this.#sockets.end(socket);
    this.#seen = new Map(found.map(({ file, port }) => [file, port]));
    return isCrowded;
  }

  async #among(files: readonly number[]): Promise<ClientSocket[]> {
    const found: ClientSocket[] = [];
    for (let from = 0; from < files.length; from += FILES_PER_STEP) {
      if (from > 0) await nextTurn();
      found.push(...this.#sockets.among(files.slice(from, from + FILES_PER_STEP), this.#options.serverPort));
    }
    const { addressOf } = this.#options;
    if (!addressOf) return found;
    return found.map((socket) => ({ ...socket, network: addressOf(socket.port) ?? socket.network }));
  }
}

function isIdle({ wasSentTo, idleMs }: ClientSocket): boolean {
  return !wasSentTo || idleMs > SILENT_STREAM_MS;
}

interface IdleLimits {
  readonly ofAddress: number;
  readonly inAll: number;
}

function limitsFor(maxFiles: number): IdleLimits {
  return { ofAddress: Math.ceil(maxFiles * ADDRESS_SHARE), inAll: Math.ceil(maxFiles * ALL_SHARE) };
}

/** What is idle beyond the limits. Those that have been idle for the shortest time stay. */
export function excessConnections(
  idle: readonly ClientSocket[],
  { ofAddress, inAll }: IdleLimits,
): ClientSocket[] {
  const kept = new Map<string, number>();
  let all = 0;
  return idle
    .toSorted((one, other) => one.idleMs - other.idleMs)
    .filter(({ network }) => {
      const own = kept.get(network) ?? 0;
      if (own >= ofAddress || all >= inAll) return true;
      kept.set(network, own + 1);
      all++;
      return false;
    });
}
