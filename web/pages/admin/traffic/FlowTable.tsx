import type { TFunction } from 'i18next';
import type { AdminTraffic, TrafficColumn, TrafficNode } from '../../../lib/answers.ts';
import { formatPercent } from '../../../lib/numbers.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Dot } from '../../../ui/Badge.tsx';
import { Card } from '../../../ui/Card.tsx';
import { Link } from '../../../ui/Link.tsx';
import { Money } from '../../../ui/Money.tsx';
import { Count } from '../../../ui/Numbers.tsx';
import { Table, type Column } from '../../../ui/Table.tsx';
import { HEALTH_TONES, nodeHref, nodeName } from './nodeText.ts';

/** The same facts as the picture, column by column. */
export function FlowTables({ traffic }: { traffic: AdminTraffic }) {
  const { t, i18n } = useTranslation();
  return (
    <div className="flex flex-col gap-5">
      {traffic.columns.map(({ kind, nodes }) => (
        <Card flush key={kind} title={t(`traffic.${kind}s`)}>
          <Table
            label={t(`traffic.${kind}s`)}
            rows={nodes}
            rowKey={(node) => node.id}
            columns={columns({ kind, links: linksFrom(traffic), t, language: i18n.language })}
          />
        </Card>
      ))}
    </div>
  );
}

/** The nodes that the traffic of a node goes on to, the largest first. */
function linksFrom({
  links,
  columns: all,
}: AdminTraffic): Map<string, { kind: TrafficColumn['kind']; node: TrafficNode }[]> {
  const nodes = new Map(all.flatMap(({ kind, nodes: of }) => of.map((node) => [node.id, { kind, node }])));
  const groups = Map.groupBy(links, ({ from }) => from);
  return new Map(
    [...groups].map(([id, of]) => [
      id,
      of
        .toSorted((a, b) => b.requests - a.requests)
        .flatMap(({ to }) => {
          const found = nodes.get(to);
          return found ? [found] : [];
        }),
    ]),
  );
}

interface ColumnsParts {
  readonly kind: TrafficColumn['kind'];
  readonly links: ReturnType<typeof linksFrom>;
  readonly t: TFunction;
  readonly language: string;
}

const MOST_NAMED = 3;

function columns({ kind, links, t, language }: ColumnsParts): Column<TrafficNode>[] {
  const goesTo: Column<TrafficNode> = {
    id: 'to',
    header: t('traffic.goesTo'),
    cell: (node) => {
      const names = (links.get(node.id) ?? []).map((to) => nodeName(to.kind, to.node, t));
      const more = names.length - MOST_NAMED;
      const shown = names.slice(0, MOST_NAMED).join(', ');
      return more > 0 ? `${shown} ${t('traffic.andMore', { count: more })}` : shown;
    },
  };
  return [
    {
      id: 'name',
      header: t(`traffic.${kind}`),
      card: 'title',
      cell: (node) => <Name kind={kind} node={node} />,
    },
    ...(kind === 'backend' ? [] : [goesTo]),
    {
      id: 'health',
      header: t('cockpit.state'),
      cell: (node) => (
        <span className="inline-flex items-center gap-2 whitespace-nowrap">
          <span aria-hidden className="inline-grid">
            <Dot tone={HEALTH_TONES[node.health]} label="" />
          </span>
          {t(`traffic.health.${node.health}`)}
        </span>
      ),
    },
    {
      id: 'errors',
      header: t('cockpit.errors'),
      align: 'right',
      cell: (node) => formatPercent(node.requests === 0 ? 0 : node.failures / node.requests, language),
    },
    {
      id: 'requests',
      header: t('adminOverview.requests'),
      align: 'right',
      cell: (node) => <Count value={node.requests} />,
    },
    {
      id: 'charged',
      header: t('cockpit.revenue'),
      align: 'right',
      card: 'aside',
      cell: (node) => <Money usd={node.chargedUsd} />,
    },
  ];
}

function Name({ kind, node }: { kind: TrafficColumn['kind']; node: TrafficNode }) {
  const { t } = useTranslation();
  const name = nodeName(kind, node, t);
  const href = nodeHref(kind, node);
  if (href === undefined) return <span className="text-ink-2">{name}</span>;
  return (
    <Link href={href} className="break-words hover:text-accent hover:underline">
      {name}
    </Link>
  );
}
