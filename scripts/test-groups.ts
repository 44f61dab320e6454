export interface TestGroup {
  readonly name: string;
  readonly paths: readonly string[];
  /** The part of its files that it runs, such as '1/2'. */
  readonly shard?: string;
  /** One of its files takes longer than `npm run quick` has; that runs only those that were changed themselves. */
  readonly slow?: true;
  /** It measures the machine, and has it alone after all others. */
  readonly alone?: true;
  /** It computes more than it waits, and takes this many places. */
  readonly places?: number;
}

/** Groups that run side by side take so many places: most of their tests wait more than they compute. */
export const PLACES = 5;

/**
 * In the order in which they begin: the longest first, so that no core is idle at the end. What sends many requests at once,
 * or waits for deadlines, comes when the browser is done.
 */
export const GROUPS: readonly TestGroup[] = [
  { name: 'browser', paths: ['test/browser'], slow: true, places: 2 },
  ...inShards({ name: 'stories', paths: ['test/stories'] }, 3),
  ...inShards({ name: 'units', paths: ['src', 'web', 'scripts', 'conformance'] }, 4),
  ...inShards({ name: 'faults', paths: ['test/faults'], slow: true }, 6),
  ...inShards(
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
    2,
  ),
  { name: 'load', paths: ['test/load'], slow: true },
  { name: 'bill', paths: ['test/bill'], slow: true },
  { name: 'restarts', paths: ['test/restarts'], slow: true },
  { name: 'golden', paths: ['test/golden'] },
  { name: 'binary', paths: ['test/binary'], slow: true },
  { name: 'clients', paths: ['test/clients'] },
  { name: 'speed', paths: ['test/speed'], slow: true, alone: true },
];

function inShards(group: TestGroup, count: number): TestGroup[] {
  return Array.from({ length: count }, (_, index) => ({
    ...group,
    name: `${group.name}-${index + 1}`,
    shard: `${index + 1}/${count}`,
  }));
}
