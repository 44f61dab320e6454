/**
 * `npm run mutants`: changes the code in small ways, one at a time, and sees whether the tests notice. What no test
 * notices is listed with its place and, where it is known, the reason (`mutants/accepted.json`); a reason that belongs to no
 * mutant any more is listed too.
 *
 *   npm run mutants -- --count=40 --seed=7 --only=relay --jobs=1 --minutes=20 --results=/tmp/relay.jsonl
 *
 * The same seed draws the same sample from the same sources. All are tried against their quickest tests before the first is
 * tried against slower ones, and what the time was too short for counts as not noticed. With `--results` a run goes on
 * where the last one stopped; tests may be added in between, sources may not change.
 */
import { createHash } from 'node:crypto';
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
import { TrialLog, type Trial } from './mutants/trials.ts';
import { filesOf, mutated, Workshop } from './mutants/workshop.ts';

const ROOT = resolve(import.meta.dir, '..');
const TARGET_PERCENT = 85;

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: {
    count: { type: 'string', default: '300' },
    seed: { type: 'string', default: String(crypto.getRandomValues(new Uint32Array(1))[0]) },
    only: { type: 'string' },
    minutes: { type: 'string', default: '45' },
    results: { type: 'string' },
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
const timings = new Map<string, Promise<number>>();
const log = new TrialLog(
  values.results,
  `${values.count} of seed ${values.seed}, ${values.only ?? 'all'}, ${sourcesDigest()}`,
);
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

function sourcesDigest(): string {
  const hash = createHash('sha256');
  for (const file of new Set(population.map(({ mutant }) => mutant.file)))
    hash.update(file).update(readFileSync(join(ROOT, file)));
  return hash.digest('hex').slice(0, 16);
}

async function tryAll(drawn: readonly { area: Area; mutant: Mutant }[]): Promise<Tried[]> {
  const startedAt = performance.now();
  const isTimeLeft = (): boolean => performance.now() - startedAt < Number(values.minutes) * 60_000;
  const trials = drawn.map(({ area, mutant }) => log.trial(area, mutant));
  const ended = trials.filter(({ verdict }) => verdict !== undefined);
  // Quick tests of all before slow tests of any.
  const waiting = trials
    .filter(({ verdict }) => verdict === undefined)
    .toSorted((a, b) => a.survived - b.survived);
  const work = async (workshop: Workshop): Promise<void> => {
    while (isTimeLeft()) {
      const next = waiting.shift();
      if (!next) return;
      const after = await tryNext(workshop, next);
      log.keep(after);
      (after.verdict === undefined ? waiting : ended).push(after);
      const said = after.verdict ?? `survived ${after.survived}`;
      console.log(`${ended.length}/${trials.length} ${said}: ${describe(after.mutant)}`);
    }
  };
  const jobs = Array.from({ length: Number(values.jobs) }, (_, index) => join(folder, String(index)));
  await Promise.all(jobs.map((path) => work(new Workshop(ROOT, path, values.seed))));
  const untried = waiting.filter(({ survived }) => survived === 0);
  const unfinished = waiting.filter(({ survived }) => survived > 0);
  if (untried.length > 0) console.log(`${untried.length} not tried: the time was up`);
  console.log(`took ${((performance.now() - startedAt) / 60_000).toFixed(1)} minutes`);
  return [
    ...ended.map(({ verdict = 'survived', ...one }) => ({ ...one, verdict })),
    ...unfinished.map((one) => ({ ...one, verdict: 'survived' as const, isUnfinished: true })),
  ];
}

/** One step further: with the tests that are next, or at its end. */
async function tryNext(workshop: Workshop, trial: Trial): Promise<Trial> {
  const { area, mutant, survived } = trial;
  const all = workshop.steps(mutant.file, area);
  // An accepted survivor would pay for every stage; the quick tests say soon enough if it needs no reason any more.
  const steps = isAccepted(mutant, accepted) ? all.slice(0, 1) : all;
  const step = steps[survived];
  if (!step) return { ...trial, verdict: 'survived' };
  const verdict = await workshop.try(mutant, step, await silenceOf(workshop, area, step.stage));
  if (verdict !== 'survived') return { ...trial, verdict };
  const isLast = survived + 1 === steps.length;
  return { ...trial, survived: survived + 1, ...(isLast && { verdict }) };
}

/** Each stage is timed once, as the code is, when the first mutant needs it. */
async function silenceOf(workshop: Workshop, area: Area, stage: number): Promise<number> {
  const name = `${area.name} ${stage}`;
  const known = log.silenceOf(name);
  if (known !== undefined) return known;
  const timing = timings.get(name) ?? workshop.silenceOf(area, stage);
  timings.set(name, timing);
  const silenceMs = await timing;
  if (log.silenceOf(name) === undefined) log.keepSilence(name, silenceMs);
  return silenceMs;
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
