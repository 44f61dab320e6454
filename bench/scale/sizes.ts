/** Tenfold steps from `least` to `most`, both included. */
export function tenfoldSteps(least: number, most: number): number[] {
  const steps: number[] = [];
  for (let size = least; size < most; size *= 10) steps.push(size);
  return [...steps, most];
}
