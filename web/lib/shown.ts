import { useState } from 'react';

const FIRST = 50;
const STEP = 100;
/** The most rows that a page shows: beyond them, searching is faster than scrolling. */
const MOST = 400;

interface ShownRows<Row> {
  readonly rows: readonly Row[];
  /** Undefined if everything is shown, or the limit is reached. */
  readonly showMore: (() => void) | undefined;
  readonly beyond: number;
}

/** The first rows of a long list, and more on demand; another `list` starts over. */
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
