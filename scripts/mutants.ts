/**
 * `npm run mutants`: changes the code in small ways, one at a time, and sees whether the tests notice. What no test
 * notices is listed with its place and, where it is known, the reason (`mutants/accepted.json`); a reason that belongs to no
 * mutant any more is listed too.
 *
 *   npm run mutants -- --count=40 --seed=7 --only=relay --jobs=1
 *
 * The same seed draws the same sample from the same sources. It is no part of `npm test`: it takes up to 45 minutes.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Glob } from 'bun';
import { parseSync } from 'oxc-parser';
import accepted from './mutants/accepted.json';
import { AREAS, type Area } from './mutants/areas.ts';
import { mutantsOf, type Mutant } from './mutants/operators.ts';
import { describe, isAccepted, reportOf, type Tried } from './mutants/report.ts';
import { filesOf, mutated, Workshop, type Stage } from './mutants/workshop.ts';

const ROOT = resolve(import.meta.dir, '..');
const TARGET_PERCENT = 85;
const BUDGET_MS = 45 * 60_000;

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: {
    count: { type: 'string', default: '300' },
    seed: { type: 'string', default: String(crypto.getRandomValues(new Uint32Array(1))[0]) },
    only: { type: 'string' },
    // Tests wait about half of their time: for a disk, a database, a timer.
    jobs: { type: 'string', default: String(2 * availableParallelism()) },
  },
});
const areas = AREAS.filter(({ name, onlyWhenNamed = false }) =>
  values.only === undefined ? !onlyWhenNamed : name.startsWith(values.only),
);
if (areas.length === 0)
  throw new Error(`no area '${values.only}': ${AREAS.map(({ name }) => name).join(', ')}`);
console.log(`seed ${values.seed}, ${values.count} mutants (--seed=${values.seed} --count=${values.count})`);
const population = AREAS.flatMap((area) => sourcesOf(area).flatMap((file) => mutantsIn(file, area)));
const folder = mkdtempSync(join(tmpdir(), 'mutants-'));
// A test's Postgres runs as another user where we are root, and must get to its folder.
chmodSync(folder, 0o755);
try {
  const tried = await tryAll(sample());
  const { lines, percent } = reportOf(tried, population, accepted);
  console.log(`\n${lines.join('\n')}\n(seed ${values.seed}, target ${TARGET_PERCENT} %)`);
  process.exitCode = percent >= TARGET_PERCENT ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Every mutant of every chosen area is as likely as any other. */
function sample(): { area: Area; mutant: Mutant }[] {
  const all = population.filter(({ area }) => areas.includes(area));
  const random = randomSource(Number(values.seed));
  const drawn = all.map((one) => ({ one, key: random() })).sort((a, b) => a.key - b.key);
  return drawn.slice(0, Number(values.count)).map(({ one }) => one);
}

function sourcesOf({ sources, except = [] }: Area): string[] {
  const left = except.map((pattern) => new Glob(pattern));
  return sources
    .flatMap((pattern) => filesOf(ROOT, pattern))
    .filter((file) => !left.some((glob) => glob.match(file)));
}

/** A change that is no program any more would prove nothing. */
function mutantsIn(file: string, area: Area): { area: Area; mutant: Mutant }[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return mutantsOf(file, text)
    .filter((mutant) => parseSync(file, mutated(text, mutant)).errors.length === 0)
    .map((mutant) => ({ area, mutant }));
}

async function tryAll(queue: { area: Area; mutant: Mutant }[]): Promise<Tried[]> {
  const startedAt = performance.now();
  const total = queue.length;
  const tried: Tried[] = [];
  const workshops = Array.from(
    { length: Number(values.jobs) },
    (_, index) => new Workshop(ROOT, join(folder, String(index)), values.seed),
  );
  const stages = await timedStages(workshops, new Set(queue.map(({ area }) => area)));
  await Promise.all(
    workshops.map(async (workshop) => {
      while (performance.now() - startedAt < BUDGET_MS) {
        const next = queue.shift();
        if (!next) return;
        const all = stages.get(next.area) ?? [];
        // An accepted survivor would pay for every stage; the quick tests say soon enough if it needs no reason any more.
        const tests = isAccepted(next.mutant, accepted) ? all.slice(0, 1) : all;
        const verdict = await workshop.try(next.mutant, tests);
        tried.push({ ...next, verdict });
        console.log(`${tried.length}/${total} ${verdict}: ${describe(next.mutant)}`);
      }
    }),
  );
  if (queue.length > 0) console.log(`${queue.length} not tried: the time was up`);
  console.log(`took ${((performance.now() - startedAt) / 60_000).toFixed(1)} minutes`);
  return tried;
}

/** As many at once as mutants later, so that the times are those of a machine that is as busy. */
async function timedStages(workshops: readonly Workshop[], needed: Set<Area>): Promise<Map<Area, Stage[]>> {
  const stages = new Map<Area, Stage[]>();
  const left = [...needed];
  await Promise.all(
    workshops.map(async (workshop) => {
      for (let area = left.shift(); area; area = left.shift())
        stages.set(area, await workshop.baseline(area));
    }),
  );
  return stages;
}

/** mulberry32: small, and the same everywhere. */
function randomSource(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
