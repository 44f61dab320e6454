import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { BunPlugin } from 'bun';

/** The order of a first reading; guides that are not listed here follow by name. */
const READING_ORDER = [
  'getting-started',
  'tokens-and-sign-in',
  'chat',
  'streaming',
  'images',
  'image-jobs',
  'responses',
  'models-and-endpoints',
  'clients',
  'money',
  'teams',
  'limits-and-headers',
  'teams',
  'errors',
  'idempotency',
  'webhooks',
  'house-models',
  'run-a-server',
  'self-hosting',
  'managing-accounts',
];

/** The guides for operators; the others are for customers. */
export const FOR_OPERATORS = ['run-a-server', 'self-hosting', 'managing-accounts'];

/** Provides `virtual:guides` from the Markdown files under docs/, each as a chunk that is loaded when it is opened. */
export function guidesPlugin(docs: string): BunPlugin {
  return {
    name: 'guides',
    setup(build) {
      build.onResolve({ filter: /^virtual:guides$/ }, () => ({ path: 'guides', namespace: 'guides' }));
      build.onLoad({ filter: /.*/, namespace: 'guides' }, async () => {
        const entries = [
          ...(await list(docs, 'guides', 'guide', '')),
          ...(await list(docs, 'clients', 'clients', 'client-')),
        ];
        return { contents: `export const guides = [\n${entries.join(',\n')}\n];`, loader: 'js' };
      });
    },
  };
}

async function list(docs: string, group: string, folder: string, prefix: string): Promise<string[]> {
  const path = join(docs, folder);
  const names = (await readdir(path).catch(() => [])).filter(
    (name) => name.endsWith('.md') && name !== 'README.md',
  );
  const slugs = names
    .map((name) => name.slice(0, -3))
    .sort((a, b) => (group === 'guides' ? rank(a) - rank(b) : 0) || a.localeCompare(b));
  return await Promise.all(
    slugs.map(async (slug) => {
      const file = join(path, `${slug}.md`);
      const title = /^# (.+)$/m.exec(await Bun.file(file).text())?.[1] ?? slug;
      const fields = [
        `slug: ${JSON.stringify(prefix + slug)}`,
        `group: ${JSON.stringify(group === 'guides' && FOR_OPERATORS.includes(slug) ? 'operators' : group)}`,
        `title: ${JSON.stringify(title)}`,
        `load: () => import(${JSON.stringify(file)})`,
      ];
      return `{ ${fields.join(', ')} }`;
    }),
  );
}

function rank(slug: string): number {
  const index = READING_ORDER.indexOf(slug);
  return index === -1 ? READING_ORDER.length : index;
}
