import { backendLatencies, type LatencySample } from '../../activity/backend-latency.ts';
import { Fault } from '../../std/fault.ts';
import type { UpstreamStatus } from '../../upstream/pool.ts';
import type { Millis } from '../contract.ts';
import type { RouteParts } from '../parts.ts';
import { draftedCatalog } from './prices.ts';
import { recentOf } from '../recent-answers.ts';
import { emptyBody, route } from '../route.ts';

const TEST_MS = 15_000;

/** How the backends are doing on this node, and a call to find out. */
export const backendRoutes = [
  route('GET /api/console/admin/backends', {
    who: 'operator',
    may: 'see_business',
    summary: 'List backends with their health',
    handle: (parts, { operator }) => allBackends(parts, operator.id),
  }),
  route('POST /api/console/admin/backends/{id}/test', {
    who: 'operator',
    may: 'change_catalog',
    summary: 'Test a backend',
    audit: 'backend.test',
    body: emptyBody,
    withinMs: TEST_MS,
    async handle(parts, { params, deadline }) {
      if (!parts.catalog.current().upstreams.has(params.id)) {
        throw new Fault('not_found', 'There is no such backend.');
      }
      const { ok, detail, latencyMs } = await parts.backends.test(params.id, deadline);
      return { ok, detail, latencyMs };
    },
  }),
];

interface AdminBackends {
  items: (AdminBackend & {
    /** The draft no longer has it. */
    isRemoved: boolean;
  })[];
  /** Backends that are only in the draft. */
  drafted: { name: string; kind: string; baseUrl: string | null }[];
  /** False: the catalog is a file, and backends are changed there. */
  editable: boolean;
  /** What `recent` is about; null: there was no request in a day. */
  sample: { requests: number; since: Millis } | null;
}

async function allBackends(parts: RouteParts, owner: string): Promise<AdminBackends> {
  const now = parts.clock.now();
  const drafted = await draftedCatalog(parts, owner);
  const at = { db: parts.store.db, reader: parts.reader };
  const sample = await recentOf(parts.store).get('backends', now, () => backendLatencies(at, now));
  return {
    items: parts.backends.list().map((status) => ({
      ...backendItem(parts, status, sample),
      isRemoved: drafted !== undefined && !drafted.upstreams.has(status.name),
    })),
    drafted: [...(drafted?.upstreams.values() ?? [])]
      .filter(({ name }) => !parts.catalog.current().upstreams.has(name))
      .map(({ name, kind, baseUrl }) => ({ name, kind, baseUrl: baseUrl ?? null })),
    editable: parts.catalogEditor !== undefined,
    sample: sample.since === undefined ? null : { requests: sample.requests, since: sample.since },
  };
}

/** A backend whose key is withheld is never asked, whatever its breaker says. */
export function backendState(
  catalog: RouteParts['catalog'],
  { name, state }: Pick<UpstreamStatus, 'name' | 'state'>,
): 'closed' | 'half_open' | 'open' {
  if (state === 'resting' || catalog.current().upstreams.get(name)?.problem !== undefined) return 'open';
  return state === 'probing' ? 'half_open' : 'closed';
}

/** Each account has a rest of its own, so there may be many. */
const MAX_SHOWN = 50;

interface AdminBackend {
  name: string;
  kind: string;
  baseUrl: string | null;
  state: ReturnType<typeof backendState>;
  /** Why it is not asked at all: its key is for another host. Then `state` is `open`. */
  problem: string | null;
  /** It is paused: it gets no new requests. */
  paused: boolean;
  /** The latest test call failed, and nothing has succeeded since. */
  testFailed: boolean;
  /** Models that are not asked for now, and when they will be again. */
  resting: {
    model: string;
    /** Which of several keys rests, from 1; null: the only one. */
    key: number | null;
    /** The only account for which it rests; null: for all. */
    account: string | null;
    until: Millis;
  }[];
  /** Fields of Tollgate's own that it refused, and what it gets instead since then; null: nothing. */
  learned: { model: string; field: string; instead: string | null }[];
  /** On this node since it started. */
  requests: number;
  failures: number;
  /** `failures / requests`; null: no traffic yet. */
  errorRate: number | null;
  /** Smoothed over the latest requests. */
  firstByteMs: number | null;
  lastError: { at: Millis; message: string } | null;
  endpoints: string[];
  /** Requests that it serves now, on this node. */
  running: number;
  recent: AdminBackendRecent;
}

function backendItem(
  { catalog, operation, clock }: RouteParts,
  status: UpstreamStatus,
  sample: LatencySample,
): AdminBackend {
  const { upstreams, endpoints } = catalog.current();
  const served = [...endpoints.values()].filter((endpoint) =>
    endpoint.places.flat().some(({ upstream }) => upstream === status.name),
  );
  return {
    name: status.name,
    kind: status.kind,
    baseUrl: upstreams.get(status.name)?.baseUrl ?? null,
    state: backendState(catalog, status),
    problem: upstreams.get(status.name)?.problem ?? null,
    testFailed: status.hasFailedTest,
    paused: upstreams.get(status.name)?.paused === true,
    resting: status.resting.slice(0, MAX_SHOWN).map(({ model, key, account, until }) => ({
      model,
      key: key ?? null,
      account: account ?? null,
      until,
    })),
    learned: status.learned
      .slice(0, MAX_SHOWN)
      .map(({ model, field, instead }) => ({ model, field, instead: instead ?? null })),
    requests: status.requests,
    failures: status.failures,
    errorRate: status.requests === 0 ? null : status.failures / status.requests,
    firstByteMs: status.firstByteMs ?? null,
    lastError: lastError(status, sample),
    running: operation.runningAt(status.name),
    recent: recentFigures(status.name, sample, clock.now()),
    endpoints: served.map(({ code }) => code),
  };
}

/** This node knows its own failures at once; those of others, and of before a restart, are in the receipts. */
function lastError(
  { name, lastFailure }: UpstreamStatus,
  { backends }: LatencySample,
): AdminBackend['lastError'] {
  const recorded = backends.get(name)?.lastFailure;
  const newest = recorded && (!lastFailure || recorded.at > lastFailure.at) ? recorded : lastFailure;
  return newest ? { at: newest.at, message: newest.reason } : null;
}

const HOUR_MS = 3_600_000;

/** Figures of the newest requests of the last day, from all nodes. */
interface AdminBackendRecent {
  /** Requests of the last hour that it was called for; with `isMore` there were more than were looked at. */
  lastHour: number;
  isMore: boolean;
  /** Failed calls among all; null: there was none. */
  errorRate: number | null;
  firstByteMs: { p50: number; p95: number } | null;
  durationMs: { p50: number; p95: number } | null;
}

function recentFigures(name: string, sample: LatencySample, now: number): AdminBackendRecent {
  const of = sample.backends.get(name);
  return {
    lastHour: of?.lastHour ?? 0,
    isMore: sample.isCut && sample.since !== undefined && sample.since > now - HOUR_MS,
    errorRate: of === undefined || of.calls === 0 ? null : of.failures / of.calls,
    firstByteMs: of?.firstByteMs ?? null,
    durationMs: of?.durationMs ?? null,
  };
}
