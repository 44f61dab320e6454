type AspectRatio = `${number}:${number}`;

/** The ratio of a list that is nearest to that of a size such as `1024x768`. */
function nearestRatio<Ratio extends AspectRatio>(size: string, ratios: readonly [Ratio, ...Ratio[]]): Ratio {
  const wanted = Math.log(quotient(size, 'x'));
  const distance = (ratio: Ratio): number => Math.abs(Math.log(quotient(ratio, ':')) - wanted);
  return ratios.reduce((best, ratio) => (distance(ratio) < distance(best) ? ratio : best));
}

/** A size, and the ratio that the request named instead of it. */
export interface WantedShape {
  readonly size: string;
  readonly shape?: { readonly aspectRatio?: string | undefined } | undefined;
}

/** The ratio that was asked for, if the backend has it; otherwise the one nearest to the size. */
export function ratioFor<Ratio extends AspectRatio>(
  { size, shape }: WantedShape,
  ratios: readonly [Ratio, ...Ratio[]],
): Ratio {
  return ratios.find((ratio) => ratio === shape?.aspectRatio) ?? nearestRatio(size, ratios);
}

/** `4:3` of `1024x768`. */
export function reducedRatio(size: string): AspectRatio {
  const { width, height } = dimensionsOf(size);
  const divisor = greatestDivisor(width, height);
  return `${width / divisor}:${height / divisor}`;
}

export function dimensionsOf(size: string): { readonly width: number; readonly height: number } {
  const [width = 1, height = 1] = size.split('x').map(Number);
  return { width, height };
}

function quotient(text: string, separator: string): number {
  const [width, height] = text.split(separator).map(Number);
  return (width ?? 1) / (height ?? 1);
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}
