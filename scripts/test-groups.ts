export interface TestGroup {
  readonly name: string;
  readonly paths: readonly string[];
  /** What its lines begin with; the group's name unless told otherwise. */
  readonly linesBegin?: string;
}

/** Rows that run beside each other. */
export const SIDE_BY_SIDE: readonly (readonly TestGroup[])[] = [
  [
    { name: 'units', paths: ['src', 'web', 'scripts'] },
    { name: 'golden', paths: ['test/golden'] },
    { name: 'clients', paths: ['test/clients'] },
  ],
  [
    { name: 'browser', paths: ['test/browser'] },
    {
      name: 'stories',
      paths: [
        'test/stories',
        'test/payments',
        'test/providers',
        'test/matrix',
        'test/import',
        'test/architecture',
      ],
    },
  ],
];
/** What measures or loads the whole machine. */
export const ALONE: readonly TestGroup[] = [
  { name: 'bill', paths: ['test/bill'] },
  { name: 'binary', paths: ['test/binary'] },
  { name: 'faults', paths: ['test/faults'] },
];
