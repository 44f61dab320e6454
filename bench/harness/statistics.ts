/** The value below which `share` of the values lie. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Of an even number of values, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

/** The slope of the line through the points that errs least, in units of y per unit of x. */
export function slope(points: readonly { readonly x: number; readonly y: number }[]): number {
  const meanX = points.reduce((sum, { x }) => sum + x, 0) / points.length;
  const meanY = points.reduce((sum, { y }) => sum + y, 0) / points.length;
  const above = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0);
  const below = points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0);
  return below === 0 ? 0 : above / below;
}
