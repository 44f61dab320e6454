import { dirname, join, relative, resolve } from 'node:path';
import { Glob } from 'bun';

export const SRC = resolve(import.meta.dir, '../../src');
export const WEB = resolve(import.meta.dir, '../../web');

export interface Import {
  readonly from: string;
  readonly to: string;
  readonly kind: 'value' | 'type' | 'dynamic';
}

const STATEMENT = /^(?:import|export)\s+(type\s)?(?:[^'";]*?from\s+)?'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm;

/** What the program's files import from each other; tests are not part of the program. */
export async function importsIn(root: string): Promise<Import[]> {
  const found: Import[] = [];
  for (const { file, text } of await sourcesIn(root)) {
    if (isTest(file)) continue;
    for (const [, type, named, dynamic] of text.matchAll(STATEMENT)) {
      const target = named ?? dynamic ?? '';
      // Texts and styles are data; the import rules are for code.
      if (!/\.tsx?$/.test(target)) continue;
      const kind = dynamic ? 'dynamic' : type ? 'type' : 'value';
      found.push({ from: file, to: relative(root, resolve(root, dirname(file), target)), kind });
    }
  }
  return found;
}

export async function sourcesIn(root: string): Promise<{ file: string; text: string }[]> {
  const files = await Array.fromAsync(new Glob('**/*.{ts,tsx}').scan(root));
  return await Promise.all(
    files.toSorted().map(async (file) => ({ file, text: await Bun.file(join(root, file)).text() })),
  );
}

export function isTest(file: string): boolean {
  return /\.test\.tsx?$/.test(file);
}

export function isTesting(file: string): boolean {
  return file.split('/').includes('testing');
}

/** The first cycle found, as a list of its files; empty if there is none. */
export function cycleIn(imports: readonly Import[]): string[] {
  const graph = Map.groupBy(imports, ({ from }) => from);
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (node: string): string[] | undefined => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node];
    if (done.has(node)) return undefined;
    path.push(node);
    for (const { to } of graph.get(node) ?? []) {
      const cycle = visit(to);
      if (cycle) return cycle;
    }
    path.pop();
    done.add(node);
    return undefined;
  };
  for (const node of graph.keys()) {
    const cycle = visit(node);
    if (cycle) return cycle;
  }
  return [];
}

/** All files that are loaded together with one, `import()` not followed. */
export function loadedWith(entry: string, imports: readonly Import[]): Set<string> {
  const graph = Map.groupBy(
    imports.filter(({ kind }) => kind === 'value'),
    ({ from }) => from,
  );
  const loaded = new Set([entry]);
  for (const file of loaded) for (const { to } of graph.get(file) ?? []) loaded.add(to);
  return loaded;
}
