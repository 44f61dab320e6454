import { join } from 'node:path';
import { parse } from 'yaml';

/** One thing that can go wrong, what must hold then, and who checks it. */
export interface Scenario {
  readonly id: string;
  readonly what: string;
  readonly criterion: string;
  readonly tests: readonly TestReference[];
  readonly runs: readonly RunName[];
  /** What of it is not checked here, and why. */
  readonly left: string | undefined;
}

/** Every test of a file whose name contains the text. */
export interface TestReference {
  readonly file: string;
  readonly name: string;
}

export type RunName = 'attack' | 'malformed';

interface Written {
  readonly id: string;
  readonly what: string;
  readonly criterion: string;
  readonly tests?: readonly string[];
  readonly runs?: readonly RunName[];
  readonly left?: string;
}

export async function readCatalogue(): Promise<Scenario[]> {
  const text = await Bun.file(join(import.meta.dir, '../catalogue.yaml')).text();
  return (parse(text) as Written[]).map(({ tests = [], runs = [], left, ...rest }) => ({
    ...rest,
    runs,
    left,
    tests: tests.map((reference) => {
      const [file = '', name = ''] = reference.split(' > ');
      return { file, name };
    }),
  }));
}
