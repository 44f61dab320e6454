import { z } from 'zod';
import { flowOfDays, flowOfHour, type FlowLink, type TrafficFlow } from '../../activity/traffic-flow.ts';
import { usd } from '../amounts.ts';
import type { Usd } from '../contract.ts';
import type { RouteParts } from '../parts.ts';
import { recentOf } from '../recent-answers.ts';
import { route } from '../route.ts';
import { backendState } from './backends.ts';

/** More nodes than this could not be told apart in one column. */
const SHOWN_NODES = 12;
/** The share of failed requests from which a node shows errors, and from which it counts as failing. */
const ERRORS_FROM = 0.05;
const FAILING_FROM = 0.2;

const querySchema = z.strictObject({
  range: z.enum(['hour', 'today', 'week']).optional(),
  measure: z.enum(['requests', 'charged']).optional(),
});

type Query = z.output<typeof querySchema>;
type Range = NonNullable<Query['range']>;
type Measure = NonNullable<Query['measure']>;

/** From clients to endpoints, models and backends; of each the largest, and all others together. */
export const trafficRoutes = [
  route('GET /api/console/admin/traffic', {
    who: 'operator',
    may: 'see_customers',
    summary: 'Get the traffic',
    compressed: true,
    query: querySchema,
    async handle(parts, { query }) {
      const { range = 'today', measure = 'requests' } = query;
      const now = parts.clock.now();
      const flow = await recentOf(parts.store).get(`traffic ${range}`, now, () => flowOf(parts, range, now));
      return { range, measure, ...picture(parts, flow, measure), at: now };
    },
  }),
];

function flowOf({ store, reader }: RouteParts, range: Range, now: number): Promise<TrafficFlow> {
  const parts = { db: store.db, reader: reader.sums };
  return range === 'hour' ? flowOfHour(parts, now) : flowOfDays(parts, now, range === 'week' ? 7 : 1);
}

function picture(parts: RouteParts, flow: TrafficFlow, measure: Measure) {
  const { clientEndpoint, endpointModel, modelBackend, isEstimated } = flow;
  const clients = columnOf('client', clientEndpoint, 'from', measure);
  const endpoints = columnOf('endpoint', endpointModel, 'from', measure);
  const models = columnOf('model', endpointModel, 'to', measure);
  const backends = columnOf('backend', modelBackend, 'to', measure);
  const known = backendHealths(parts);
  return {
    columns: [
      clients.column,
      endpoints.column,
      withEndpoints(models.column, endpointModel),
      {
        ...backends.column,
        nodes: backends.column.nodes.map((node) => ({
          ...node,
          health: known.get(node.name) ?? node.health,
        })),
      },
    ],
    links: [
      ...linksOf(clientEndpoint, clients, endpoints),
      ...linksOf(endpointModel, endpoints, models),
      ...linksOf(modelBackend, models, backends),
    ],
    /** How clients share the traffic comes from a part of the requests. */
    isEstimated,
  };
}

interface TrafficColumn {
  kind: 'client' | 'endpoint' | 'model' | 'backend';
  /** The largest first. */
  nodes: TrafficNode[];
}

interface TrafficNode {
  id: string;
  /** Empty: a client that did not tell, no backend that was asked, or several. */
  name: string;
  /** How many others this stands for; 0: it is one itself. */
  others: number;
  requests: number;
  failures: number;
  chargedUsd: Usd;
  health: TrafficHealth;
  /** For a model: the endpoint that serves most of its requests. */
  endpoint: string | null;
}

/** `failing`: many errors, or a backend that gets nothing for now; `paused`: by the operator. */
type TrafficHealth = 'healthy' | 'errors' | 'failing' | 'paused';

interface BuiltColumn {
  readonly column: TrafficColumn;
  /** The node in which something of this name is. */
  nodeOf(name: string): string;
}

function columnOf(
  kind: TrafficColumn['kind'],
  links: readonly FlowLink[],
  side: 'from' | 'to',
  measure: Measure,
): BuiltColumn {
  const groups = [...Map.groupBy(links, (link) => link[side])].map(([name, of]) => ({ name, ...sums(of) }));
  const sorted = groups.toSorted((a, b) => b[measure] - a[measure] || b.requests - a.requests);
  // One other would need as much room as itself.
  const shown = sorted.length <= SHOWN_NODES + 1 ? sorted : sorted.slice(0, SHOWN_NODES);
  const rest = sorted.slice(shown.length);
  const names = new Set(shown.map(({ name }) => name));
  const nodeOf = (name: string): string => (names.has(name) ? `${kind} ${name}` : `${kind}s`);
  const nodes = shown.map((group) => nodeFrom(nodeOf(group.name), group.name, group));
  const others = rest.length > 0 ? [{ ...nodeFrom(`${kind}s`, '', sums(rest)), others: rest.length }] : [];
  return { column: { kind, nodes: [...nodes, ...others] }, nodeOf };
}

type Sums = Pick<FlowLink, 'requests' | 'failures' | 'charged'>;

function sums(of: readonly Sums[]): Sums {
  const sum = (key: keyof Sums): number => of.reduce((total, row) => total + row[key], 0);
  return { requests: sum('requests'), failures: sum('failures'), charged: sum('charged') };
}

function nodeFrom(id: string, name: string, { requests, failures, charged }: Sums): TrafficNode {
  const rate = requests === 0 ? 0 : failures / requests;
  const health = rate >= FAILING_FROM ? 'failing' : rate >= ERRORS_FROM ? 'errors' : 'healthy';
  return { id, name, others: 0, requests, failures, chargedUsd: usd(charged), health, endpoint: null };
}

function linksOf(links: readonly FlowLink[], from: BuiltColumn, to: BuiltColumn) {
  const groups = Map.groupBy(links, (link) => JSON.stringify([from.nodeOf(link.from), to.nodeOf(link.to)]));
  return [...groups.values()].flatMap((of) => {
    const [first] = of;
    if (!first) return [];
    const { requests, charged } = sums(of);
    return [{ from: from.nodeOf(first.from), to: to.nodeOf(first.to), requests, chargedUsd: usd(charged) }];
  });
}

/** A model's page is of one endpoint: the one through which most of its requests come. */
function withEndpoints(column: TrafficColumn, links: readonly FlowLink[]): TrafficColumn {
  const largest = new Map<string, FlowLink>();
  for (const link of links)
    if (link.requests > (largest.get(link.to)?.requests ?? -1)) largest.set(link.to, link);
  const nodes = column.nodes.map((node) => ({
    ...node,
    endpoint: node.others > 0 ? null : (largest.get(node.name)?.from ?? null),
  }));
  return { ...column, nodes };
}

/** Backends whose state says more than the errors of the period do. */
function backendHealths({ backends, catalog }: RouteParts): Map<string, TrafficHealth> {
  return new Map(
    backends.list().flatMap((status): [string, TrafficHealth][] => {
      if (catalog.current().upstreams.get(status.name)?.paused === true) return [[status.name, 'paused']];
      if (backendState(catalog, status) === 'open' || status.hasFailedTest) return [[status.name, 'failing']];
      return [];
    }),
  );
}
