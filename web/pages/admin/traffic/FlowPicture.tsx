import { useState } from 'react';
import { useLocation } from 'wouter';
import type { AdminTraffic, TrafficHealth } from '../../../lib/answers.ts';
import { useWidth } from '../../../charts/size.ts';
import { formatUsd } from '../../../lib/money.ts';
import { formatCount } from '../../../lib/numbers.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { layoutFlow, NODE_WIDTH, ribbon, type PlacedLink, type PlacedNode } from './layout.ts';
import { nodeHref, nodeName } from './nodeText.ts';

const LABEL_WIDTH = 150;
const LABEL_GAP = 8;

/** Labels stay readable on a ribbon of any colour. */
const HALO = {
  stroke: 'var(--c-surface)',
  strokeWidth: 3,
  strokeLinejoin: 'round',
  paintOrder: 'stroke',
} as const;

const COLOURS: Record<TrafficHealth, string> = {
  healthy: 'var(--c-accent)',
  errors: 'var(--c-warn)',
  failing: 'var(--c-bad)',
  paused: 'var(--c-field)',
};

/** Clients, endpoints, models and backends with ribbons between them, as wide as their traffic. Every node is a link. */
export function FlowPicture({ traffic }: { traffic: AdminTraffic }) {
  const { t } = useTranslation();
  const [ref, width] = useWidth<HTMLDivElement>();
  const [active, setActive] = useState<string>();
  const { nodes, links, height } = layoutFlow(traffic, Math.max(width, 600), LABEL_WIDTH);
  return (
    <div ref={ref} className="overflow-x-auto" style={{ minHeight: height }}>
      {width > 0 ? (
        <svg
          width={Math.max(width, 600)}
          height={height}
          role="group"
          aria-label={t('traffic.picture')}
          className="block"
        >
          {links.map((link) => (
            <Ribbon key={link.id} link={link} active={active} />
          ))}
          {nodes.map((placed) => (
            <Node key={placed.node.id} placed={placed} measure={traffic.measure} onActive={setActive} />
          ))}
        </svg>
      ) : null}
    </div>
  );
}

function Ribbon({ link, active }: { link: PlacedLink; active: string | undefined }) {
  const { from, to } = link;
  const isActive = active === from.node.id || active === to.node.id;
  const worst = to.node.health === 'healthy' ? from.node.health : to.node.health;
  return (
    <path
      d={ribbon(link)}
      aria-hidden
      fill={COLOURS[worst]}
      opacity={active === undefined ? 0.28 : isActive ? 0.5 : 0.1}
    />
  );
}

interface NodeProps {
  readonly placed: PlacedNode;
  readonly measure: AdminTraffic['measure'];
  readonly onActive: (id: string | undefined) => void;
}

function Node({ placed, measure, onActive }: NodeProps) {
  const { t, i18n } = useTranslation();
  const [, navigate] = useLocation();
  const { node, kind, x, y, height } = placed;
  const name = nodeName(kind, node, t);
  const amount =
    measure === 'requests'
      ? formatCount(node.requests, i18n.language)
      : formatUsd(node.chargedUsd, i18n.language);
  const health = t(`traffic.health.${node.health}`);
  // A healthy node needs no note: the legend explains a plain one.
  const note = node.health === 'healthy' ? amount : `${amount} · ${health}`;
  const href = nodeHref(kind, node);
  const drawing = (
    <>
      <rect x={x} y={y} width={NODE_WIDTH} height={height} rx="1" fill={COLOURS[node.health]} />
      {node.health === 'healthy' ? null : <Hatching placed={placed} />}
      <text x={x + NODE_WIDTH + LABEL_GAP} y={y + 12} fontSize="13" fill="var(--c-ink)" {...HALO}>
        {shortened(name)}
      </text>{' '}
      <text
        x={x + NODE_WIDTH + LABEL_GAP}
        y={y + 28}
        fontSize="12"
        fill={node.health === 'failing' ? 'var(--c-bad)' : 'var(--c-ink-3)'}
        className="tabular-nums"
        {...HALO}
      >
        {note}
      </text>
    </>
  );
  const hover = {
    onPointerEnter: () => onActive(node.id),
    onPointerLeave: () => onActive(undefined),
  };
  if (href === undefined) return <g {...hover}>{drawing}</g>;
  return (
    <a
      href={href}
      // Begins with the visible text, so that voice control finds it.
      aria-label={`${shortened(name)} ${note}, ${t(`traffic.${kind}`)} ${name}, ${health}`}
      className="cursor-pointer hover:[&_text]:underline"
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        navigate(href);
      }}
      onFocus={() => onActive(node.id)}
      onBlur={() => onActive(undefined)}
      {...hover}
    >
      {/* The whole label can be pressed, not only its letters. */}
      <rect x={x} y={y - 2} width={LABEL_WIDTH} height={36} fill="transparent" />
      {drawing}
    </a>
  );
}

/** Health is shown by shape as well as by colour: nodes that are not healthy are hatched. */
function Hatching({ placed: { x, y, height } }: { placed: PlacedNode }) {
  const lines = Array.from({ length: Math.floor(height / 6) }, (_, index) => y + 3 + index * 6);
  return lines.map((at) => (
    <line key={at} x1={x} x2={x + NODE_WIDTH} y1={at} y2={at} stroke="var(--c-surface)" strokeWidth="2" />
  ));
}

const LABEL_LETTERS = 20;

function shortened(name: string): string {
  return name.length > LABEL_LETTERS ? `${name.slice(0, LABEL_LETTERS - 1)}…` : name;
}
