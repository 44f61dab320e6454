import { useState } from 'react';

const FIRST = 50;
const STEP = 100;
/** What a page holds at most: beyond it, a search finds faster than scrolling. */
const MOST = 400;

interface ShownRows<Row> {
  readonly rows: readonly Row[];
  /** Absent when there are no more, or too many. */
  readonly showMore: (() => void) | undefined;
  /** How many are not shown because a page would hold too many. */
  readonly beyond: number;
}

/** The first rows of a long list, and more on demand; another `list` begins anew. */
export function useShownRows<Row>(all: readonly Row[], list: string, first = FIRST): ShownRows<Row> {
  const [grown, setGrown] = useState({ list, count: first });
  const count = grown.list === list ? grown.count : first;
  const isFull = count >= MOST;
  return {
    rows: all.slice(0, count),
    showMore: all.length > count && !isFull ? () => setGrown({ list, count: count + STEP }) : undefined,
    beyond: isFull ? Math.max(0, all.length - count) : 0,
  };
}
