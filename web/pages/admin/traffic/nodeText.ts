import type { TFunction } from 'i18next';
import type { TrafficColumn, TrafficHealth, TrafficNode } from '../../../lib/answers.ts';
import { hrefWith } from '../../../lib/search.ts';
import type { Tone } from '../../../ui/Badge.tsx';

export const HEALTH_TONES: Record<TrafficHealth, Tone> = {
  healthy: 'good',
  errors: 'warn',
  failing: 'bad',
  paused: 'neutral',
};

export function nodeName(kind: TrafficColumn['kind'], { name, others }: TrafficNode, t: TFunction): string {
  if (others > 0) return t('traffic.others', { count: others });
  if (name !== '') return name;
  return kind === 'backend' ? t('traffic.noBackend') : t('traffic.unnamed');
}

/** All browsers begin their User-Agent alike, and the list of requests is filtered by its beginning. */
const BROWSERS = new Set(['Firefox', 'Edg', 'Chrome', 'Safari', 'Mozilla']);

/** The page of what the node stands for; a combined node has none. */
export function nodeHref(kind: TrafficColumn['kind'], node: TrafficNode): string | undefined {
  if (node.others > 0 || node.name === '') return undefined;
  switch (kind) {
    case 'client':
      return hrefWith('/admin/requests', { client: BROWSERS.has(node.name) ? 'Mozilla/' : node.name });
    case 'endpoint':
      return hrefWith('/app/models', { endpoint: node.name });
    case 'model':
      return node.endpoint === null
        ? hrefWith('/admin/requests', { model: node.name })
        : `/app/models/${encodeURIComponent(node.endpoint)}/${encodeURIComponent(node.name)}`;
    case 'backend':
      return '/admin/backends';
    default:
      return kind satisfies never;
  }
}
