import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CONNECTIONS, plansFor, type Case } from '../cases.ts';
import { startTollgate, type TollgateContender, type TollgateOptions } from '../contenders/tollgate.ts';
import { generate } from '../harness/generate.ts';
import { untilIdle } from '../harness/measure.ts';
import type { LoadResult } from '../load/plan.ts';

/** What one unit of a case leaves to the garbage collector. A unit is a request. */
export interface Allocated {
  readonly kilobytes: number;
  readonly collections: number;
  /** Chunks of content that a request has. */
  readonly chunks: number;
}

/** What the heap of a server that never collects has grown by, for each request. */
export interface Grown {
  /** Without what objects keep outside the heap, such as the bytes of buffers. */
  readonly kilobytes: number;
  /** Chunks of content that a request has. */
  readonly chunks: number;
  readonly kinds: Readonly<Record<string, number>>;
}

/**
 * Compiled code makes fewer objects than interpreted code, so what is measured comes after so many others. Without
 * collections all of them stay in memory.
 */
const REQUESTS = { whole: { warm: 6_000, counted: 2_000 }, streamed: { warm: 200, counted: 200 } };
const SLICE_SECONDS = 2;
const MOST_SLICES = 30;
const FILE_WAIT_MS = 10_000;

/** A server that logs each of its collections, with how much there was before and after. */
export async function startLoggingCollections(options: TollgateOptions): Promise<TollgateContender> {
  return await startTollgate({ ...options, bunEnv: { BUN_JSC_logGC: '1' } });
}

/** Kilobytes for each request of a case, from the log of collections. */
export async function measureAllocated(
  one: Case,
  server: TollgateContender,
  least: number,
): Promise<Allocated> {
  await load(one, server, REQUESTS[one.streamed ? 'streamed' : 'whole'].warm);
  const before = collectionsOf(server);
  const { requests, events } = await load(one, server, least);
  const all = collectionsOf(server);
  // What was allocated before a collection is the difference to what the one before it has left.
  let kilobytes = 0;
  for (let at = Math.max(1, before.length); at < all.length; at++)
    kilobytes += (all[at]?.before ?? 0) - (all[at - 1]?.after ?? 0);
  return {
    kilobytes: kilobytes / requests,
    collections: (all.length - before.length) / requests,
    chunks: events / requests,
  };
}

/** What a request of a case makes: all of it stays in a server that never collects. */
export async function measureGrown(one: Case, options: TollgateOptions): Promise<Grown> {
  const file = join(options.folder, `${options.name.replaceAll(/\W+/g, '-')}-heap.json`);
  const server = await startTollgate({
    ...options,
    bunFlags: ['--preload', join(import.meta.dir, 'heap-probe.ts')],
    bunEnv: { BUN_JSC_useGC: '0', HEAP_PROBE: file },
  });
  try {
    const { warm, counted } = REQUESTS[one.streamed ? 'streamed' : 'whole'];
    await load(one, server, warm);
    const before = await probe(server, file);
    const { requests, events } = await load(one, server, counted);
    const after = await probe(server, file);
    const counts = Object.entries(after.kinds).map(
      ([kind, count]) => [kind, (count - (before.kinds[kind] ?? 0)) / requests] as const,
    );
    return {
      kilobytes: (after.kilobytes - before.kilobytes) / requests,
      chunks: events / requests,
      kinds: Object.fromEntries(counts.toSorted((a, b) => b[1] - a[1])),
    };
  } finally {
    await server.stop();
  }
}

type HeapProbe = Pick<Grown, 'kilobytes' | 'kinds'>;

/** At least as many requests, in slices of load until there were. */
async function load(
  one: Case,
  server: TollgateContender,
  least: number,
): Promise<Pick<LoadResult, 'requests' | 'events'>> {
  const total = { requests: 0, events: 0 };
  // On a busy machine a slice may be over before the first stream is.
  for (let slice = 0; total.requests < least; slice++) {
    const plans = plansFor(one, server, { seconds: SLICE_SECONDS, connections: CONNECTIONS });
    const { requests, events, errors, complaint } = await generate(plans);
    if (errors > 0 || slice === MOST_SLICES)
      throw new Error(`${one.name}: ${complaint ?? `${total.requests} requests, ${errors} errors`}`);
    total.requests += requests;
    total.events += events;
  }
  await untilIdle(server);
  return total;
}

interface Collection {
  readonly before: number;
  readonly after: number;
}

const STARTED = /^\[GC<(0x[0-9a-f]+)>: START \w+ (\d+)kb/;
const ENDED = /^\[GC<(0x[0-9a-f]+)>: .* => (\d+)kb, p=\S+ .* END\]$/;

/** Of the thread that serves, which is the one that collects most. A collection that goes on in the background has several lines. */
function collectionsOf({ logFile }: TollgateContender): readonly Collection[] {
  const started = new Map<string, number>();
  const byThread = new Map<string, Collection[]>();
  for (const line of readFileSync(logFile, 'utf8').split('\n')) {
    const [, startedBy, before] = STARTED.exec(line) ?? [];
    if (startedBy !== undefined) started.set(startedBy, Number(before));
    const [, thread, after] = ENDED.exec(line) ?? [];
    if (thread === undefined) continue;
    const own = byThread.getOrInsert(thread, []);
    own.push({ before: started.get(thread) ?? 0, after: Number(after) });
  }
  return [...byThread.values()].toSorted((a, b) => b.length - a.length)[0] ?? [];
}

async function probe({ pids }: TollgateContender, file: string): Promise<HeapProbe> {
  rmSync(file, { force: true });
  for (const pid of pids) process.kill(pid, 'SIGIO');
  const deadline = performance.now() + FILE_WAIT_MS;
  while (!existsSync(file)) {
    if (performance.now() > deadline) throw new Error('the server has not told what its heap holds');
    await Bun.sleep(20);
  }
  return JSON.parse(readFileSync(file, 'utf8')) as HeapProbe;
}
