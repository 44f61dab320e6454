export interface TestGroup {
  readonly name: string;
  readonly paths: readonly string[];
  /** The part of its files that it runs, such as '1/2'. */
  readonly shard?: string;
  /** What its lines begin with; the group's name unless told otherwise. */
  readonly linesBegin?: string;
  /** One of its files takes longer than `npm run quick` has; that runs only those that were changed themselves. */
  readonly slow?: true;
}

/** Groups that run one after another. */
export type TestRow = readonly TestGroup[];

/** The stages come one after another; the rows of a stage run side by side. */
export const STAGES: readonly (readonly TestRow[])[] = [
  [
    [{ name: 'units-1', paths: ['src', 'web', 'scripts', 'conformance'], shard: '1/2' }],
    [
      { name: 'units-2', paths: ['src', 'web', 'scripts', 'conformance'], shard: '2/2' },
      {
        name: 'services',
        paths: [
          'test/payments',
          'test/providers',
          'test/matrix',
          'test/import',
          'test/architecture',
          'test/responses',
        ],
      },
    ],
    [{ name: 'stories', paths: ['test/stories'] }],
    [
      { name: 'browser', paths: ['test/browser'], slow: true },
      { name: 'golden', paths: ['test/golden'] },
      { name: 'clients', paths: ['test/clients'] },
    ],
  ],
  // Many requests at once, beside tests that wait for deadlines most of their time.
  [
    [
      { name: 'load', paths: ['test/load'], slow: true },
      { name: 'restarts', paths: ['test/restarts'], slow: true },
    ],
    [
      { name: 'faults-1', paths: ['test/faults'], shard: '1/4', slow: true },
      { name: 'faults-4', paths: ['test/faults'], shard: '4/4', slow: true },
      { name: 'binary', paths: ['test/binary'], slow: true },
    ],
    [{ name: 'faults-2', paths: ['test/faults'], shard: '2/4', slow: true }],
    [
      { name: 'faults-3', paths: ['test/faults'], shard: '3/4', slow: true },
      { name: 'bill', paths: ['test/bill'], slow: true },
    ],
  ],
  // What measures the machine has it alone.
  [[{ name: 'speed', paths: ['test/speed'], slow: true }]],
];
