import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Area } from './areas.ts';
import type { Mutant } from './operators.ts';
import type { Verdict } from './workshop.ts';

/** A mutant of the sample, and how far it has come. */
export interface Trial {
  readonly area: Area;
  readonly mutant: Mutant;
  /** How many steps it has survived. */
  readonly survived: number;
  readonly verdict?: Verdict;
}

interface Line {
  readonly file: string;
  readonly line: number;
  readonly source: string;
  readonly change: string;
  readonly survived: number;
  readonly verdict?: Verdict;
}

/**
 * A file that keeps what is known of a sample, a line for each step that was tried, so that a run goes on where the last
 * one stopped. It belongs to one sample of one state of the sources; with others it is refused.
 */
export class TrialLog {
  readonly #path: string | undefined;
  readonly #known = new Map<string, Line>();
  readonly #silences = new Map<string, number>();

  constructor(path: string | undefined, sampleOf: string) {
    this.#path = path;
    if (path === undefined) return;
    if (!existsSync(path)) writeFileSync(path, `${JSON.stringify({ sampleOf })}\n`);
    const [first = '', ...lines] = readFileSync(path, 'utf8').trim().split('\n');
    if (JSON.parse(first).sampleOf !== sampleOf)
      throw new Error(`${path} belongs to another sample, or the sources have changed since`);
    for (const line of lines) this.#read(JSON.parse(line));
  }

  #read(line: Line | { readonly stage: string; readonly silenceMs: number }): void {
    if ('stage' in line) this.#silences.set(line.stage, line.silenceMs);
    else this.#known.set(nameOf(line), line);
  }

  trial(area: Area, mutant: Mutant): Trial {
    const known = this.#known.get(nameOf(mutant));
    const verdict = known?.verdict;
    return { area, mutant, survived: known?.survived ?? 0, ...(verdict !== undefined && { verdict }) };
  }

  keep({ mutant: { file, line, source, change }, survived, verdict }: Trial): void {
    this.#write({ file, line, source, change, survived, verdict });
  }

  /** For how long no test of a stage may end, once that was timed. */
  silenceOf(stage: string): number | undefined {
    return this.#silences.get(stage);
  }

  keepSilence(stage: string, silenceMs: number): void {
    this.#silences.set(stage, silenceMs);
    this.#write({ stage, silenceMs });
  }

  #write(line: object): void {
    if (this.#path !== undefined) appendFileSync(this.#path, `${JSON.stringify(line)}\n`);
  }
}

function nameOf({ file, line, source, change }: Pick<Line, 'file' | 'line' | 'source' | 'change'>): string {
  return `${file}:${line} ${change} ${source}`;
}
