import { Fault } from '../std/fault.ts';
import { MAX_COUNT, MAX_PIXELS, type ExtraUsage, type Usage } from './price.ts';

/** The last gate before a number meets a price. Callers clean up what backends say; here it can only be a mistake of ours. */
export function checkedUsage(usage: Usage): Usage {
  if (!isUsage(usage)) {
    throw new Fault('internal_error', 'Something went wrong on our side. Retry later.', {
      detail: `not a usage: ${JSON.stringify(usage)}`,
    });
  }
  return usage;
}

export function isUsage(usage: Usage): boolean {
  const { input, cached, output, reasoning, images, extra } = usage;
  return (
    [input, cached, output, reasoning, images].every(isCount) &&
    cached <= input &&
    (extra === undefined || isExtraUsage(usage, extra))
  );
}

function isExtraUsage({ input, cached, output }: Usage, extra: ExtraUsage): boolean {
  const { cacheWrite = 0, cacheWrite1h = 0, audioInput = 0, imageInput = 0 } = extra;
  const { audioOutput = 0, imageOutput = 0, webSearches = 0, pixels = 0 } = extra;
  const inputs = [cacheWrite, cacheWrite1h, audioInput, imageInput];
  return (
    [...inputs, audioOutput, imageOutput, webSearches].every(isCount) &&
    Number.isSafeInteger(pixels) &&
    pixels >= 0 &&
    pixels <= MAX_PIXELS &&
    inputs.reduce((sum, part) => sum + part, cached) <= input &&
    audioOutput + imageOutput <= output
  );
}

/** Nothing was used: what an extra usage counts is part of these, or comes with them. */
export function isEmpty({ input, cached, output, reasoning, images }: Usage): boolean {
  return input + cached + output + reasoning + images === 0;
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value <= MAX_COUNT;
}

/** The usage that has no columns of its own, for a hold or a receipt. */
export function extraUsageText({ extra }: Usage): string | null {
  return extra === undefined ? null : JSON.stringify(extra);
}

/** The text was written by {@link extraUsageText}. */
export function extraUsageOf(text: string | null | undefined): Pick<Usage, 'extra'> {
  return text === null || text === undefined ? {} : { extra: JSON.parse(text) as ExtraUsage };
}
