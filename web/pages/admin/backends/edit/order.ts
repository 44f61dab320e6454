/** The backends of an endpoint in the order they are tried, as rows that can be moved. */
export interface OrderRow {
  readonly upstream: string;
  readonly weight: string;
  /** Shares the load of the row above by weight; otherwise it is called if those above cannot serve. */
  readonly isJoined: boolean;
}

type Places = readonly (readonly { readonly upstream: string; readonly weight: number }[])[];

export function orderRows(places: Places): OrderRow[] {
  return places.flatMap((place) =>
    place.map(({ upstream, weight }, index) => ({ upstream, weight: String(weight), isJoined: index > 0 })),
  );
}

const WEIGHT = /^[1-9]\d{0,2}$|^1000$/;

export function isWeight(text: string): boolean {
  return WEIGHT.test(text.trim());
}

/** `undefined` if one of the weights is not valid. */
export function placesOfRows(
  rows: readonly OrderRow[],
): { upstream: string; weight: number }[][] | undefined {
  const places: { upstream: string; weight: number }[][] = [];
  for (const { upstream, weight, isJoined } of rows) {
    if (!isWeight(weight)) return undefined;
    const entry = { upstream, weight: Number(weight) };
    const above = places.at(-1);
    if (isJoined && above) above.push(entry);
    else places.push([entry]);
  }
  return places;
}

/** A catalog cannot express two groups that each share their load with nothing between them. */
export function hasAdjacentGroups(rows: readonly OrderRow[]): boolean {
  const sizes =
    placesOfRows(rows.map((row) => ({ ...row, weight: '1' })))?.map((place) => place.length) ?? [];
  return sizes.some((size, index) => size > 1 && (sizes[index + 1] ?? 0) > 1);
}

/** Moves a backend; which places share their load stays the same. */
export function movedRow(rows: readonly OrderRow[], from: number, to: number): OrderRow[] {
  const moved = [...rows];
  const [row] = moved.splice(from, 1);
  if (row) moved.splice(to, 0, row);
  return moved.map((one, index) => ({ ...one, isJoined: rows[index]?.isJoined ?? false }));
}

export function withRow(rows: readonly OrderRow[], index: number, change: Partial<OrderRow>): OrderRow[] {
  return rows.map((row, at) => (at === index ? { ...row, ...change } : row));
}

export function withoutRow(rows: readonly OrderRow[], index: number): OrderRow[] {
  const next = rows[index + 1];
  // The next row takes over the place of the removed one in its group, as a member or as the first.
  const kept = next?.isJoined ? withRow(rows, index + 1, { isJoined: rows[index]?.isJoined ?? false }) : rows;
  return kept.filter((_, at) => at !== index);
}

/** Its share of the requests at its place, from 0 to 1; `undefined` while a weight is not valid. */
export function shareOf(rows: readonly OrderRow[], index: number): number | undefined {
  let first = index;
  while (first > 0 && rows[first]?.isJoined) first--;
  let end = index + 1;
  while (rows[end]?.isJoined) end++;
  const group = rows.slice(first, end);
  if (!group.every(({ weight }) => isWeight(weight))) return undefined;
  const sum = group.reduce((total, { weight }) => total + Number(weight), 0);
  return Number(rows[index]?.weight) / sum;
}

export function isShared(rows: readonly OrderRow[], index: number): boolean {
  return rows[index]?.isJoined === true || rows[index + 1]?.isJoined === true;
}
