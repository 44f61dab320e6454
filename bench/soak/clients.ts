import { STREAMED_CHAT, SMALL_CHAT } from '../cases.ts';
import { Connection } from '../load/connection.ts';
import { encodeRequest } from '../load/plan.ts';

/** What came of the requests of one kind of client. */
export interface Tally {
  sent: number;
  served: number;
  /** Faults that the script asked for: told as an error, or broken off by us. */
  failed: number;
}

export interface Clients {
  readonly tallies: ReadonlyMap<string, Tally>;
  stop(): Promise<void>;
}

interface Client {
  readonly name: string;
  readonly count: number;
  /** Between two requests. */
  readonly pauseMs: number;
  act(connection: Connection, request: (fields?: object) => Uint8Array): Promise<boolean>;
}

const STALL_MS = 2_000;
const ABORT_AFTER = [0, 1, 2, 5, 20];

/** Good clients, and every kind of trouble that clients and backends make, at the same time. */
const CLIENTS: readonly Client[] = [
  {
    name: 'small chat',
    count: 12,
    pauseMs: 5,
    act: async (connection, request) => ok(connection.send(request())),
  },
  {
    name: 'stream to the end',
    count: 16,
    pauseMs: 20,
    act: (connection, request) => ok(connection.send(request({ stream: true, user: 'chunks=40;paceMs=5' }))),
  },
  { name: 'client leaves a stream', count: 6, pauseMs: 20, act: leave },
  { name: 'client leaves a whole answer', count: 2, pauseMs: 50, act: leaveWhole },
  { name: 'slow reader', count: 4, pauseMs: 100, act: stall },
  {
    name: 'backend answers 500',
    count: 1,
    pauseMs: 200,
    act: (connection, request) => ok(connection.send(request({ user: 'fault=error' }))),
  },
  {
    name: 'backend resets the connection',
    count: 1,
    pauseMs: 200,
    act: (connection, request) => ok(connection.send(request({ user: 'fault=reset' }))),
  },
  {
    name: 'backend breaks a stream',
    count: 2,
    pauseMs: 200,
    act: (connection, request) =>
      ok(connection.send(request({ stream: true, user: 'fault=cut;chunks=20;paceMs=5' }))),
  },
  {
    name: 'request that is refused',
    count: 1,
    pauseMs: 50,
    act: (connection, request) => ok(connection.send(request({ temperature: 99 }))),
  },
];

export function startClients(url: string, tokens: readonly string[]): Clients {
  const tallies = new Map<string, Tally>();
  let stopped = false;
  const running = CLIENTS.flatMap((client) => {
    const tally: Tally = { sent: 0, served: 0, failed: 0 };
    tallies.set(client.name, tally);
    return Array.from({ length: client.count }, async (_, index) => {
      const headers = { authorization: `Bearer ${tokens[index % tokens.length]}` };
      const request = (fields: object = {}): Uint8Array => encodeRequest(url, headers, bodyWith(fields));
      const connection = new Connection(url);
      while (!stopped) {
        tally.sent++;
        if (await client.act(connection, request)) tally.served++;
        else tally.failed++;
        await Bun.sleep(client.pauseMs);
      }
      connection.abort();
    });
  });
  return {
    tallies,
    stop: async () => {
      stopped = true;
      await Promise.all(running);
    },
  };
}

async function leave(connection: Connection, request: (fields?: object) => Uint8Array): Promise<boolean> {
  const after = ABORT_AFTER[Math.floor(Math.random() * ABORT_AFTER.length)] ?? 0;
  connection.onBytes = (events) => {
    if (events >= after) connection.abort();
  };
  const left = ok(connection.send(request({ stream: true, user: 'chunks=100;paceMs=5' })));
  if (after === 0) await Bun.sleep(1).then(() => connection.abort());
  const served = await left;
  connection.onBytes = undefined;
  return served;
}

async function leaveWhole(
  connection: Connection,
  request: (fields?: object) => Uint8Array,
): Promise<boolean> {
  const answer = ok(connection.send(request()));
  await Bun.sleep(Math.random() * 2);
  connection.abort();
  return await answer;
}

/** Reads a little, then nothing for a while, then the rest. */
async function stall(connection: Connection, request: (fields?: object) => Uint8Array): Promise<boolean> {
  const answer = ok(connection.send(request({ stream: true, user: 'chunks=3000;paceMs=1' })));
  await Bun.sleep(100);
  connection.pause();
  await Bun.sleep(STALL_MS);
  connection.resume();
  return await answer;
}

async function ok(exchange: ReturnType<Connection['send']>): Promise<boolean> {
  try {
    return (await exchange).status === 200;
  } catch {
    // Broken off, by them or by us: the tally says how often.
    return false;
  }
}

function bodyWith(fields: object): string {
  const base = 'stream' in fields ? STREAMED_CHAT.body : SMALL_CHAT.body;
  return JSON.stringify({ ...(JSON.parse(base) as object), max_tokens: 4_000, ...fields });
}
