import { readdirSync } from 'node:fs';
import { dlopen, FFIType } from 'bun:ffi';
import { openFileLimit } from '../std/open-files.ts';

/** A connection that a client has opened to this server, as the operating system knows it. */
export interface ClientSocket {
  readonly file: number;
  /** An IPv4 address, or the /64 of an IPv6 one, which any client has to itself. */
  readonly network: string;
  readonly port: number;
  /** Whether anything was ever sent to the client: it has been answered, or has begun a TLS handshake. */
  readonly wasSentTo: boolean;
  /** How long nothing was received or sent. If nothing was ever sent: how old the connection is. */
  readonly idleMs: number;
}

/**
 * The connections of this process, as Linux knows them: Bun's server shows a connection only with its first request, so
 * those that never make one can be seen and closed only this way.
 */
export interface ClientSockets {
  /** Of these files, the connections that clients have opened to a port of this process. */
  among(files: readonly number[], serverPort: number): ClientSocket[];
  /** Ends a connection, unless its file is another one by now. Bun sees the end and frees what belongs to it. */
  end(socket: ClientSocket): void;
}

const SHUT_RDWR = 2;
const SOL_SOCKET = 1;
const SO_ACCEPTCONN = 30;
const SO_BINDTOIFINDEX = 62;
/** No system counts its network interfaces so far. */
const NO_INTERFACE = 0x7fffffff;
const AF_INET = 2;
const AF_INET6 = 10;
const IPPROTO_TCP = 6;
const TCP_INFO = 11;
/** Offsets in `struct tcp_info` of linux/tcp.h. */
const LAST_DATA_SENT = 44;
const LAST_DATA_RECEIVED = 52;
const BYTES_ACKED = 120;
const TCP_INFO_BYTES = 136;

/** `undefined` where there is no Linux, or no way to call its C library. */
export function openClientSockets(): ClientSockets | undefined {
  if (process.platform !== 'linux') return undefined;
  const libc = loadLibc();
  if (!libc) return undefined;
  const name = Buffer.alloc(28);
  const info = Buffer.alloc(TCP_INFO_BYTES);
  const length = new Int32Array(1);
  const read = (buffer: Buffer, call: () => number): boolean => {
    length[0] = buffer.length;
    return call() === 0;
  };
  const ownPort = (file: number): number | undefined =>
    read(name, () => libc.getsockname(file, name, length)) ? portIn(name) : undefined;
  /** Leaves the client's address in `name`. */
  const clientPort = (file: number): number | undefined =>
    read(name, () => libc.getpeername(file, name, length)) ? portIn(name) : undefined;
  const readInfo = (file: number): boolean =>
    read(info, () => libc.getsockopt(file, IPPROTO_TCP, TCP_INFO, info, length)) &&
    // An old kernel fills less of the struct.
    (length[0] ?? 0) >= TCP_INFO_BYTES;
  return {
    among(files, serverPort) {
      const found: ClientSocket[] = [];
      for (const file of files) {
        if (ownPort(file) !== serverPort) continue;
        const port = clientPort(file);
        if (port === undefined || !readInfo(file)) continue;
        found.push({ file, port, network: networkIn(name), ...activityIn(info) });
      }
      return found;
    },
    end({ file, port }) {
      if (clientPort(file) === port) libc.shutdown(file, SHUT_RDWR);
    },
  };
}

/**
 * From now on Linux refuses new connections to this port of the process, as if nobody listened, while those that it has
 * begun to make are still accepted. Closing a listener resets them, also where the client has sent its request by then;
 * proxies send a request again only when its connection was refused. The listener is bound to a network interface that
 * does not exist; connections keep the one through which they came.
 *
 * Returns whether it could: Linux 5.7 or newer.
 */
export function refuseConnections(port: number): boolean {
  const libc = process.platform === 'linux' ? loadLibc() : undefined;
  if (!libc) return false;
  const name = Buffer.alloc(28);
  const length = new Int32Array(1);
  const value = new Int32Array(1);
  const isListener = (file: number): boolean => {
    length[0] = name.length;
    if (libc.getsockname(file, name, length) !== 0 || portIn(name) !== port) return false;
    length[0] = value.byteLength;
    return libc.getsockopt(file, SOL_SOCKET, SO_ACCEPTCONN, value, length) === 0 && value[0] === 1;
  };
  const listeners = openFileNumbers(openFileLimit() ?? 0).filter(isListener);
  value[0] = NO_INTERFACE;
  const refusing = listeners.filter(
    (file) => libc.setsockopt(file, SOL_SOCKET, SO_BINDTOIFINDEX, value, value.byteLength) === 0,
  );
  return listeners.length > 0 && refusing.length === listeners.length;
}

function loadLibc() {
  const { i32, ptr } = FFIType;
  const symbols = {
    getpeername: { args: [i32, ptr, ptr], returns: i32 },
    getsockname: { args: [i32, ptr, ptr], returns: i32 },
    getsockopt: { args: [i32, i32, i32, ptr, ptr], returns: i32 },
    setsockopt: { args: [i32, i32, i32, ptr, i32], returns: i32 },
    shutdown: { args: [i32, i32], returns: i32 },
  } as const;
  const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
  for (const name of ['libc.so.6', `libc.musl-${machine}.so.1`]) {
    try {
      return dlopen(name, symbols).symbols;
    } catch {
      // The other C library, or none that can be called.
    }
  }
  return undefined;
}

/** A `struct sockaddr_in` and a `sockaddr_in6` have the port at the same place. */
function portIn(name: Buffer): number | undefined {
  const family = name.readUInt16LE(0);
  return family === AF_INET || family === AF_INET6 ? name.readUInt16BE(2) : undefined;
}

/** On a server for both protocols, an IPv4 client has an IPv4-mapped IPv6 address. */
function networkIn(name: Buffer): string {
  if (name.readUInt16LE(0) === AF_INET) return name.subarray(4, 8).join('.');
  const address = name.subarray(8, 24);
  const isIpv4 = address.readBigUInt64BE(0) === 0n && address.readUInt32BE(8) === 0xffff;
  return isIpv4 ? address.subarray(12).join('.') : address.toString('hex', 0, 8);
}

/** The acknowledgement of the connection itself counts as one byte. */
function activityIn(info: Buffer): Pick<ClientSocket, 'wasSentTo' | 'idleMs'> {
  const sinceSentMs = info.readUInt32LE(LAST_DATA_SENT);
  const wasSentTo = info.readBigUInt64LE(BYTES_ACKED) > 1n;
  const idleMs = wasSentTo ? Math.min(sinceSentMs, info.readUInt32LE(LAST_DATA_RECEIVED)) : sinceSentMs;
  return { wasSentTo, idleMs };
}

/** Without a file to spare, the list of open ones cannot be read either, and every number up to the limit is tried. */
export function openFileNumbers(limit: number): number[] {
  try {
    return readdirSync('/proc/self/fd').map(Number);
  } catch {
    return Array.from({ length: limit }, (_, file) => file);
  }
}
