import { STREAMED_CHAT, type Case } from '../cases.ts';
import type { Contender } from '../contenders/contender.ts';
import { startTollgate } from '../contenders/tollgate.ts';
import { usageOf } from '../harness/usage.ts';
import { Connection } from '../load/connection.ts';
import { encodeRequest } from '../load/plan.ts';
import type { Cost } from './cost.ts';
import type { Curve, ScaleContext } from './curve.ts';
import { tenfoldSteps } from './sizes.ts';

/** All streams together, so that what is compared is the number of streams and not the number of chunks. */
const CHUNKS_PER_SECOND = 2_000;
const WINDOW_MS = 6_000;
const SETTLE_MS = 1_500;
/** Opened in steps, so that no listen queue overflows. */
const OPENED_TOGETHER = 100;

export interface StreamsResult {
  readonly curve: Curve;
  /** What one open stream adds to the memory of the gateway, at the largest number of them. */
  readonly bytesPerStream: number;
  readonly streams: number;
}

/** Cost per chunk against the number of open streams, at the same number of chunks a second over all of them. */
export async function streamsCurve(ground: ScaleContext, most: number): Promise<StreamsResult> {
  const { backend, folder, forwarder } = ground;
  const tollgate = await startTollgate({
    name: 'scale-streams',
    backend,
    folder,
    accounts: STREAMED_CHAT.accounts,
  });
  try {
    await held(tollgate, 100);
    const points: { x: number; cost: Cost }[] = [];
    let bytesPerStream = Number.NaN;
    for (const x of tenfoldSteps(10, most)) {
      const own = await held(tollgate, x);
      const bare = await held(forwarder, x);
      bytesPerStream = own.bytesPerStream;
      points.push({
        x,
        cost: { tollgateUs: own.usPerChunk, forwarderUs: bare.usPerChunk, errors: own.errors + bare.errors },
      });
      console.log(
        `${x} streams: ${own.usPerChunk.toFixed(1)} µs a chunk, bare ${bare.usPerChunk.toFixed(1)} µs; ${(own.bytesPerStream / 1024).toFixed(1)} KB a stream, bare ${(bare.bytesPerStream / 1024).toFixed(1)} KB; ${own.errors} failed`,
      );
    }
    const title = `CPU per chunk against open streams (${CHUNKS_PER_SECOND} chunks/s in all)`;
    return {
      curve: { name: 'streams', title, xLabel: 'open streams', points },
      bytesPerStream,
      streams: most,
    };
  } finally {
    await tollgate.stop();
  }
}

interface Held {
  readonly usPerChunk: number;
  readonly bytesPerStream: number;
  readonly errors: number;
}

/** Holds so many streams open and looks on for a while. */
async function held(contender: Contender, count: number): Promise<Held> {
  const paceMs = Math.round((count * 1000) / CHUNKS_PER_SECOND);
  const before = usageOf(contender.pids);
  let chunks = 0;
  const connections: Connection[] = [];
  for (let number = 0; number < count; number++) {
    const connection = new Connection(contender.urls[0]!);
    let seen = 0;
    connection.onBytes = (events) => {
      chunks += events - seen;
      seen = events;
    };
    connections.push(connection);
    // Its end is ours, below; one that ended before is seen by its closed connection.
    connection.send(streamRequest(STREAMED_CHAT, contender, number, paceMs)).catch(() => undefined);
    if (number % OPENED_TOGETHER === OPENED_TOGETHER - 1) await Bun.sleep(50);
  }
  await Bun.sleep(SETTLE_MS + paceMs);
  const errors = connections.filter(({ isOpen }) => !isOpen).length;
  const opened = usageOf(contender.pids);
  const chunksBefore = chunks;
  await Bun.sleep(WINDOW_MS);
  const after = usageOf(contender.pids);
  const usPerChunk = (after.cpuUs - opened.cpuUs) / (chunks - chunksBefore);
  for (const connection of connections) connection.abort();
  await Bun.sleep(SETTLE_MS);
  return { usPerChunk, bytesPerStream: (after.rssBytes - before.rssBytes) / count, errors };
}

function streamRequest(
  { body }: Case,
  { urls, headers }: Contender,
  number: number,
  paceMs: number,
): Uint8Array {
  const wish = `chunks=1000000;paceMs=${paceMs}`;
  const wished = JSON.stringify({ ...(JSON.parse(body) as object), max_tokens: 90_000, user: wish });
  return encodeRequest(urls[0]!, headers[number % headers.length]!, wished);
}
