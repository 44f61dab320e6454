import type { Area } from './areas.ts';
import type { Mutant } from './operators.ts';
import type { Verdict } from './workshop.ts';

export interface Tried {
  readonly mutant: Mutant;
  readonly area: Area;
  readonly verdict: Verdict;
  /** It was not yet run against all tests of its area: it may not have survived. */
  readonly isUnfinished?: boolean;
}

/** A survivor that no test could or should notice. It is named as the tool names it, so that it can become stale. */
export interface Accepted {
  readonly file: string;
  readonly source: string;
  readonly change: string;
  readonly reason: string;
}

/** What a run has found, and which percentage was killed of those that could be. */
export function reportOf(
  tried: readonly Tried[],
  population: readonly { readonly mutant: Mutant }[],
  accepted: readonly Accepted[],
): { readonly lines: readonly string[]; readonly percent: number } {
  const survivors = tried.filter(isAlive);
  const reasonFor = (mutant: Mutant) => accepted.find((one) => isFor(one, mutant))?.reason;
  const unexplained = survivors.filter(({ mutant }) => reasonFor(mutant) === undefined);
  const killed = tried.length - survivors.length;
  const counted = killed + unexplained.length;
  const hung = tried.filter(({ verdict }) => verdict === 'hangs').length;
  const unsure = tried.filter((one) => one.verdict === 'undecided' || one.isUnfinished).length;
  const lines = [
    'survivors',
    ...survivors.map((one) => {
      const reason = reasonFor(one.mutant);
      const note = one.verdict === 'undecided' ? ' (undecided)' : one.isUnfinished ? ' (not all tests)' : '';
      return `  ${describe(one.mutant, note)}${reason === undefined ? '' : `\n    accepted: ${reason}`}`;
    }),
    ...needless(tried, population, accepted),
    ...byArea(tried),
    `${percentOf(killed, tried.length).toFixed(1)} % of ${tried.length} killed, ${hung} of them because they hang`,
    `${percentOf(killed, counted).toFixed(1)} % of ${counted} without the ${survivors.length - unexplained.length} that are accepted`,
    ...(unsure > 0 ? [`${unsure} count as survivors that were not tried against all tests`] : []),
  ];
  return { lines, percent: percentOf(killed, counted) };
}

/** Only what a test has noticed is killed. */
function isAlive({ verdict }: Tried): boolean {
  return verdict === 'survived' || verdict === 'undecided';
}

export function describe({ file, line, source, change }: Mutant, note = ''): string {
  return `${file}:${line} ${change}${note}   in: ${source}`;
}

export function isAccepted(mutant: Mutant, accepted: readonly Accepted[]): boolean {
  return accepted.some((one) => isFor(one, mutant));
}

function isFor(one: Accepted, { file, source, change }: Mutant): boolean {
  return one.file === file && one.source === source && one.change === change;
}

/** A reason that belongs to no mutant any more, or to one that is killed, must not stay unnoticed. */
function needless(
  tried: readonly Tried[],
  population: readonly { readonly mutant: Mutant }[],
  accepted: readonly Accepted[],
): string[] {
  return accepted.flatMap((one) => {
    const name = `${one.file} ${one.change}   in: ${one.source}`;
    if (!population.some(({ mutant }) => isFor(one, mutant)))
      return [`stale, there is no such mutant: ${name}`];
    const isKilled = tried.some((trial) => !isAlive(trial) && isFor(one, trial.mutant));
    return isKilled ? [`accepted, but killed: ${name}`] : [];
  });
}

function byArea(tried: readonly Tried[]): string[] {
  return [...new Set(tried.map(({ area }) => area))].map((area) => {
    const own = tried.filter((one) => one.area === area);
    const killed = own.filter((one) => !isAlive(one)).length;
    return `${area.name}: ${killed} of ${own.length} killed`;
  });
}

function percentOf(part: number, whole: number): number {
  return whole === 0 ? 0 : (100 * part) / whole;
}
