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
  /** By file of ours; what it calls in packages and in the runtime counts as its own. */
  readonly files: readonly Share[];
  readonly functions: readonly Share[];
}

/** Sums up by file and by function, leaving out idle time and the start of the process. */
export function readProfile(profile: CpuProfile): ProfileSummary {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  );
  const own = new Map<number, number>();
  profile.samples.forEach((id, index) => own.set(id, (own.get(id) ?? 0) + (profile.timeDeltas[index] ?? 0)));
  const files = new Tally();
  const functions = new Tally();
  for (const [id, us] of own) {
    const node = nodes.get(id);
    if (!node || isIdle(node)) continue;
    const stack = stackOf(id, nodes, parents);
    if (stack.some(isLoading)) continue;
    files.addOwn(fileOf(stack), us);
    functions.addOwn(nameOf(node), us);
    const seen = new Set<string>();
    for (const name of stack.map(nameOf)) {
      if (!seen.has(name)) functions.addTotal(name, us);
      seen.add(name);
    }
  }
  return { files: files.sorted(), functions: functions.sorted() };
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

/** From the function that ran up to the root. */
function stackOf(
  id: number,
  nodes: ReadonlyMap<number, ProfileNode>,
  parents: ReadonlyMap<number, number>,
): ProfileNode[] {
  const stack: ProfileNode[] = [];
  for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
    const node = nodes.get(at);
    if (node) stack.push(node);
  }
  return stack;
}

/** Modules are evaluated once, when the process begins. */
function isLoading({ callFrame: { functionName } }: ProfileNode): boolean {
  return functionName === '(module)' || functionName === 'require';
}

function fileOf(stack: readonly ProfileNode[]): string {
  const ours = stack.map(({ callFrame }) => shortPath(callFrame.url)).find((path) => path.startsWith('src/'));
  return ours ?? 'the runtime on its own (HTTP, event loop, garbage collection)';
}

function shortPath(url: string): string {
  const path = url.replace(/^file:\/\//, '');
  const at = Math.max(path.lastIndexOf('/node_modules/'), path.lastIndexOf('/src/'));
  return at === -1 ? path : path.slice(at + 1);
}
