/** Chrome's profile format, as Bun writes it. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}

export interface Share {
  readonly name: string;
  /** Of all busy time, in the function itself. */
  readonly share: number;
  /** In the function and all that it called. */
  readonly total: number;
}

export interface ProfileSummary {
  readonly parts: readonly Share[];
  readonly functions: readonly Share[];
}

/** Sums up by function and by part (the folders of the source, packages, the runtime), leaving idle time out. */
export function readProfile(profile: CpuProfile): ProfileSummary {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  );
  const own = new Map<number, number>();
  profile.samples.forEach((id, index) => own.set(id, (own.get(id) ?? 0) + (profile.timeDeltas[index] ?? 0)));
  const parts = new Tally();
  const functions = new Tally();
  for (const [id, us] of own) {
    const node = nodes.get(id);
    if (!node || isIdle(node)) continue;
    parts.addOwn(partOf(node), us);
    functions.addOwn(nameOf(node), us);
    const seen = new Set<string>();
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const ancestor = nodes.get(at);
      const name = ancestor ? nameOf(ancestor) : '';
      if (!seen.has(name)) functions.addTotal(name, us);
      seen.add(name);
    }
  }
  return { parts: parts.sorted(), functions: functions.sorted() };
}

class Tally {
  readonly #own = new Map<string, number>();
  readonly #total = new Map<string, number>();
  #sum = 0;

  addOwn(name: string, us: number): void {
    this.#own.set(name, (this.#own.get(name) ?? 0) + us);
    this.#sum += us;
  }

  addTotal(name: string, us: number): void {
    this.#total.set(name, (this.#total.get(name) ?? 0) + us);
  }

  sorted(): Share[] {
    return [...this.#own]
      .map(([name, us]) => ({
        name,
        share: us / this.#sum,
        total: (this.#total.get(name) ?? us) / this.#sum,
      }))
      .sort((a, b) => b.share - a.share);
  }
}

function isIdle({ callFrame }: ProfileNode): boolean {
  return callFrame.functionName === '(idle)' || callFrame.functionName === '(root)';
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const file = url === '' ? 'runtime' : `${shortPath(url)}:${lineNumber + 1}`;
  return `${functionName === '' ? '(anonymous)' : functionName} ${file}`;
}

function partOf({ callFrame: { url } }: ProfileNode): string {
  if (url === '') return 'runtime (native functions)';
  const path = shortPath(url);
  if (path.startsWith('src/')) return path.split('/').slice(0, -1).join('/');
  return path.startsWith('node_modules/') ? path.split('/').slice(0, 2).join('/') : 'runtime (JavaScript)';
}

function shortPath(url: string): string {
  const path = url.replace(/^file:\/\//, '');
  const at = Math.max(path.lastIndexOf('/node_modules/'), path.lastIndexOf('/src/'));
  return at === -1 ? path : path.slice(at + 1);
}
