export interface TestGroup {
  readonly name: string;
  readonly paths: readonly string[];
  /** The part of its files that it runs, such as '1/2'. */
  readonly shard?: string;
  /** One of its files takes longer than `npm run quick` has; that runs only those that were changed themselves. */
  readonly slow?: true;
  /** It measures the machine, and has it alone after all others. */
  readonly alone?: true;
}

/**
 * So many groups run side by side: most tests wait more than they compute. With five no core is ever idle, and a minute is
 * saved, but what waits for a moment of its own then waits too long: each of three such runs had a test that failed.
 */
export const GROUPS_AT_ONCE = 4;

/**
 * In the order in which they begin: the longest first, so that no core is idle at the end. What sends many requests at once,
 * or waits for deadlines, comes when the browser is done.
 */
export const GROUPS: readonly TestGroup[] = [
  { name: 'browser', paths: ['test/browser'], slow: true },
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
