export interface TestGroup {
  readonly name: string;
  readonly paths: readonly string[];
  /** What its lines begin with; the group's name unless told otherwise. */
  readonly linesBegin?: string;
}

/** Groups that run one after another. */
export type TestRow = readonly TestGroup[];

/** The stages come one after another; the rows of a stage run side by side. */
export const STAGES: readonly (readonly TestRow[])[] = [
  [
    [
      { name: 'units', paths: ['src', 'web', 'scripts'] },
      { name: 'golden', paths: ['test/golden'] },
      { name: 'clients', paths: ['test/clients'] },
      {
        name: 'services',
        paths: ['test/payments', 'test/providers', 'test/matrix', 'test/import', 'test/architecture'],
      },
    ],
    [
      { name: 'browser', paths: ['test/browser'] },
      { name: 'stories', paths: ['test/stories'] },
    ],
  ],
  // Many requests at once, beside tests that wait for deadlines most of their time.
  [
    [
      { name: 'load', paths: ['test/load'] },
      { name: 'restarts', paths: ['test/restarts'] },
    ],
    [
      { name: 'bill', paths: ['test/bill'] },
      { name: 'binary', paths: ['test/binary'] },
      { name: 'faults', paths: ['test/faults'] },
    ],
  ],
  // What measures the machine has it alone.
  [[{ name: 'speed', paths: ['test/speed'] }]],
];
