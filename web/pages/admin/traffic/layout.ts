import type { AdminTraffic, TrafficColumn, TrafficNode } from '../../../lib/answers.ts';
import { approximate } from '../../../lib/money.ts';

export interface PlacedNode {
  readonly node: TrafficNode;
  readonly kind: TrafficColumn['kind'];
  readonly x: number;
  readonly y: number;
  readonly height: number;
}

/** A ribbon between two nodes, with the upper edge and the height of both ends. */
export interface PlacedLink {
  readonly id: string;
  readonly from: PlacedNode;
  readonly to: PlacedNode;
  readonly startY: number;
  readonly startHeight: number;
  readonly endY: number;
  readonly endHeight: number;
}

interface PlacedFlow {
  readonly nodes: readonly PlacedNode[];
  readonly links: readonly PlacedLink[];
  readonly height: number;
}

type Measured = { readonly requests: number; readonly chargedUsd: string };
type Value = (of: Measured) => number;

export const NODE_WIDTH = 10;
const MIN_NODE_HEIGHT = 2;
/** Two lines of text. */
const LABEL_HEIGHT = 36;
const SLOT_HEIGHT = 46;
const MIN_GAP = 6;
const MIN_HEIGHT = 320;

/** Where everything is drawn: heights by traffic, on one scale, each column ordered so that few ribbons cross. */
export function layoutFlow(traffic: AdminTraffic, width: number, labelWidth: number): PlacedFlow {
  const value: Value = ({ requests, chargedUsd }) =>
    traffic.measure === 'requests' ? requests : approximate(chargedUsd);
  const most = Math.max(...traffic.columns.map(({ nodes }) => nodes.length), 1);
  const height = Math.max(MIN_HEIGHT, most * SLOT_HEIGHT);
  const scale = scaleOf(traffic.columns, value, height);
  const step = (width - labelWidth - NODE_WIDTH) / Math.max(traffic.columns.length - 1, 1);
  const placed = new Map<string, PlacedNode>();
  for (const [index, column] of traffic.columns.entries()) {
    const nodes = orderNodes(column, traffic.links, value, placed);
    const heights = nodes.map((node) => Math.max(MIN_NODE_HEIGHT, value(node) * scale));
    const used = heights.reduce((sum, own) => sum + Math.max(own, LABEL_HEIGHT), 0);
    const gap = (height - used) / nodes.length;
    let y = gap / 2;
    for (const [place, node] of nodes.entries()) {
      const own = heights[place] ?? MIN_NODE_HEIGHT;
      placed.set(node.id, { node, kind: column.kind, x: index * step, y, height: own });
      y += Math.max(own, LABEL_HEIGHT) + gap;
    }
  }
  return { nodes: [...placed.values()], links: placeLinks(traffic.links, placed, value), height };
}

/** The largest scale by which every column fits, with room for every label. */
function scaleOf(columns: readonly TrafficColumn[], value: Value, height: number): number {
  const fits = (scale: number): boolean =>
    columns.every(
      ({ nodes }) =>
        nodes.reduce((sum, node) => sum + Math.max(value(node) * scale, LABEL_HEIGHT) + MIN_GAP, 0) <= height,
    );
  const largest = Math.max(...columns.map(({ nodes }) => nodes.reduce((sum, node) => sum + value(node), 0)));
  let [low, high] = [0, height / (largest || 1)];
  for (let round = 0; round < 30; round++) {
    const middle = (low + high) / 2;
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Orders nodes by the middle of what leads to them, the first column by size as received. Combined nodes come last. */
function orderNodes(
  { nodes }: TrafficColumn,
  links: AdminTraffic['links'],
  value: Value,
  placed: ReadonlyMap<string, PlacedNode>,
): TrafficNode[] {
  const middles = new Map(
    nodes.map(({ id, others }): [string, number] => {
      const incoming = links.filter(({ to }) => to === id);
      const total = incoming.reduce((sum, link) => sum + value(link), 0);
      const weighed = incoming.reduce((sum, link) => sum + value(link) * middleOf(placed.get(link.from)), 0);
      return [id, others > 0 ? Infinity : total === 0 ? 0 : weighed / total];
    }),
  );
  return nodes.toSorted((a, b) => (middles.get(a.id) ?? 0) - (middles.get(b.id) ?? 0) || 0);
}

function middleOf(node: PlacedNode | undefined): number {
  return node ? node.y + node.height / 2 : 0;
}

function placeLinks(
  links: AdminTraffic['links'],
  placed: ReadonlyMap<string, PlacedNode>,
  value: Value,
): PlacedLink[] {
  const ends = links
    .flatMap((link) => {
      const [from, to] = [placed.get(link.from), placed.get(link.to)];
      return from && to && value(link) > 0 ? [{ from, to, size: value(link) }] : [];
    })
    .toSorted((a, b) => a.from.y - b.from.y || a.to.y - b.to.y);
  const total = (node: PlacedNode, side: 'from' | 'to'): number =>
    ends.reduce((sum, end) => (end[side] === node ? sum + end.size : sum), 0);
  const used = { from: new Map<PlacedNode, number>(), to: new Map<PlacedNode, number>() };
  const take = (node: PlacedNode, side: 'from' | 'to', size: number): { y: number; height: number } => {
    const height = (size / total(node, side)) * node.height;
    const before = used[side].get(node) ?? 0;
    used[side].set(node, before + height);
    return { y: node.y + before, height };
  };
  return ends.map(({ from, to, size }) => {
    const [start, end] = [take(from, 'from', size), take(to, 'to', size)];
    return {
      id: `${from.node.id} ${to.node.id}`,
      from,
      to,
      startY: start.y,
      startHeight: start.height,
      endY: end.y,
      endHeight: end.height,
    };
  });
}

export function ribbon({ from, to, startY, startHeight, endY, endHeight }: PlacedLink): string {
  const [left, right] = [from.x + NODE_WIDTH, to.x];
  const middle = (left + right) / 2;
  const [startEnd, endEnd] = [startY + Math.max(1, startHeight), endY + Math.max(1, endHeight)];
  return `M${left},${startY}C${middle},${startY} ${middle},${endY} ${right},${endY}V${endEnd}C${middle},${endEnd} ${middle},${startEnd} ${left},${startEnd}Z`;
}
