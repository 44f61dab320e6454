import type { ItemOf } from '../../../../src/console/contract/routes.ts';

type SentRow = ItemOf<'GET /api/console/admin/prices'>;

/** What a row is without, where the server says nothing. */
const NO_VALUES = {
  input: null,
  cachedInput: null,
  output: null,
  image: null,
  context: null,
  maxOutput: null,
  vision: false,
  tools: false,
  reasoning: false,
  files: false,
  costs: {} as Record<string, never>,
  groups: {} as Record<string, never>,
} as const;

const NOTHING = {
  ...NO_VALUES,
  free: false,
  hasMore: false,
  imageRange: null,
  groupPrices: {} as Record<string, never>,
  isNew: false,
  isRemoved: false,
} as const;

const NO_BACKEND = { paused: false, isBuiltIn: false, listed: null, differs: false } as const;

type Whole<Sent, Nothing> = Omit<Sent, keyof Nothing> & {
  readonly [Key in keyof Nothing & keyof Sent]: Exclude<Sent[Key], undefined> | Nothing[Key];
};

export type PriceValues = Whole<NonNullable<SentRow['published']>, typeof NO_VALUES>;

export interface PriceRow extends Omit<Whole<SentRow, typeof NOTHING>, 'backends' | 'published'> {
  readonly backends: readonly Whole<SentRow['backends'][number], typeof NO_BACKEND>[];
  /** Where the draft says something else; null: the same. */
  readonly published: PriceValues | null;
}

const known = new WeakMap<SentRow, PriceRow>();

/** A row as the pages use it; the same object for the same answer. */
export function priceRow(sent: SentRow): PriceRow {
  const before = known.get(sent);
  if (before) return before;
  const row = {
    ...NOTHING,
    ...sent,
    backends: sent.backends.map((backend) => ({ ...NO_BACKEND, ...backend })),
    published: sent.published ? { ...NO_VALUES, ...sent.published } : null,
  };
  known.set(sent, row);
  return row;
}
