import { backendLatencies, type LatencySample } from '../../activity/backend-latency.ts';
import { AuthRefusal } from '../../identity/sign-in/refusal.ts';
import type { UpstreamStatus } from '../../upstream/pool.ts';
import type { AdminBackend, AdminBackendRecent, AdminBackends, BackendState } from '../contract.ts';
import type { RouteParts } from '../parts.ts';
import { recentOf } from '../recent-answers.ts';
import { emptyBody, route } from '../route.ts';

const TEST_TIMEOUT_MS = 15_000;

/** How the backends are doing on this node, and a call to find out. */
export const backendRoutes = [
  route('GET /api/console/admin/backends', {
    who: 'admin',
    handle: allBackends,
  }),
  route('POST /api/console/admin/backends/{id}/test', {
    who: 'admin',
    audit: 'backend.test',
    body: emptyBody,
    async handle(parts, { params, request }) {
      if (!parts.catalog.current().upstreams.has(params.id)) {
        throw new AuthRefusal('not_found', 'There is no such backend.');
      }
      const signal = AbortSignal.any([request.signal, AbortSignal.timeout(TEST_TIMEOUT_MS)]);
      const { ok, detail, latencyMs } = await parts.backends.test(params.id, signal);
      return { ok, detail, latencyMs };
    },
  }),
];

async function allBackends(parts: RouteParts): Promise<AdminBackends> {
  const now = parts.clock.now();
  const at = { db: parts.store.db, reader: parts.reader };
  const sample = await recentOf(parts.store).get('backends', now, () => backendLatencies(at, now));
  return {
    items: parts.backends.list().map((status) => backendItem(parts, status, sample)),
    editable: parts.catalogEditor !== undefined,
    sample: sample.since === undefined ? null : { requests: sample.requests, since: sample.since },
  };
}

/** A backend whose key is withheld is never asked, whatever its breaker says. */
export function backendState(
  catalog: RouteParts['catalog'],
  { name, state }: Pick<UpstreamStatus, 'name' | 'state'>,
): BackendState {
  if (state === 'resting' || catalog.current().upstreams.get(name)?.problem !== undefined) return 'open';
  return state === 'probing' ? 'half_open' : 'closed';
}

/** Each account has a rest of its own, so there may be many. */
const MAX_SHOWN = 50;

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
