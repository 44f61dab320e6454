/** Quarters of an hour since 1970: every time zone in use is a whole number of them away from UTC. */
export const QUARTER_MS = 900_000;
export const DAY_QUARTERS = 96;
const MINUTE_MS = 60_000;

/** From this quarter on, local time is this many quarters ahead of UTC. */
export interface ZoneOffset {
  readonly from: number;
  readonly offset: number;
}

/** Whether this is the name of a time zone, such as `Europe/Berlin`. */
export function isTimeZone(zone: string): boolean {
  try {
    return offsetFormat(zone) !== undefined;
  } catch {
    return false;
  }
}

/** The offsets of a zone between two quarters, in order: one, and one more for each change of its clocks. */
export function zoneOffsets(zone: string, from: number, to: number): readonly ZoneOffset[] {
  const format = offsetFormat(zone);
  const offsets = [{ from, offset: offsetAt(format, from) }];
  let before = from;
  while (before < to) {
    const next = Math.min(before + DAY_QUARTERS, to);
    const offset = offsetAt(format, next);
    if (offset !== offsets.at(-1)?.offset) offsets.push({ from: firstAfter(format, before, next), offset });
    before = next;
  }
  return offsets;
}

/** The first quarter with the offset of `next`: clocks change at most once a day. */
function firstAfter(format: Intl.DateTimeFormat, before: number, next: number): number {
  const offset = offsetAt(format, next);
  let [low, high] = [before, next];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(format, middle) === offset) high = middle;
    else low = middle;
  }
  return high;
}

function offsetFormat(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
}

/** `GMT+05:30` → 22 */
function offsetAt(format: Intl.DateTimeFormat, quarter: number): number {
  const part = format.formatToParts(quarter * QUARTER_MS).find(({ type }) => type === 'timeZoneName');
  const [, sign, hours, minutes = '0'] = /([+-])(\d+)(?::(\d+))?/.exec(part?.value ?? '') ?? [];
  if (hours === undefined) return 0;
  const ahead = ((Number(hours) * 60 + Number(minutes)) * MINUTE_MS) / QUARTER_MS;
  return Math.floor(sign === '-' ? -ahead : ahead);
}
