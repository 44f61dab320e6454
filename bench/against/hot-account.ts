import { join } from 'node:path';
import { figureOf, inTurn, type Figure, type Pair } from './figures.ts';

const NODES = 3;
const WORKERS = 40;
/** It waits up to two minutes for a quiet machine. */
const LONGEST_MS = 300_000;

/** Each tree's own benchmark of its ledger alone on Postgres: three nodes that admit requests of one account. */
export async function hotAccountFigures(
  roots: Pair<string>,
  rounds: number,
  seconds: number,
): Promise<Figure[]> {
  const results = await inTurn(roots, rounds, (root) => admissionsPerSecond(root, seconds));
  const name = 'admissions per second, ledger alone on Postgres, three nodes, one hot account';
  return [figureOf(name, '/s', results, (perSecond) => perSecond)];
}

async function admissionsPerSecond(root: string, seconds: number): Promise<number> {
  const words = [NODES, WORKERS, Math.max(1, Math.round(seconds)), 1].map(String);
  const child = Bun.spawn([process.execPath, join(root, 'bench/ledger-postgres.ts'), ...words], {
    cwd: root,
    stdout: 'pipe',
    stderr: 'inherit',
    timeout: LONGEST_MS,
  });
  const output = await new Response(child.stdout).text();
  const [, perSecond] = /"admissionsPerSecond": (\d+)/.exec(output) ?? [];
  if (perSecond === undefined || !output.includes('"booksAreRight": true'))
    throw new Error(`the ledger's benchmark in ${root} failed: ${output}`);
  return Number(perSecond);
}
