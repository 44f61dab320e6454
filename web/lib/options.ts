/** One of the choices of a picker. */
export interface Option {
  readonly value: string;
  readonly label: string;
  /** The heading under which it stands. */
  readonly group?: string | undefined;
  readonly disabled?: boolean | undefined;
}

export interface FoundOptions {
  readonly shown: readonly Option[];
  /** How many more there are. */
  readonly more: number;
}

/** So many are shown at once; more are found by typing. */
export const MOST_OPTIONS = 50;

/** The options that hold every word of a text, in their order: those whose name begins with it come first. */
export function findOptions(options: readonly Option[], text: string, most = MOST_OPTIONS): FoundOptions {
  const wanted = text.trim().toLowerCase();
  const words = wanted.split(/\s+/).filter(Boolean);
  const first: Option[] = [];
  const others: Option[] = [];
  for (const option of options) {
    const name = option.label.toLowerCase();
    const all = `${name} ${option.value.toLowerCase()} ${option.group?.toLowerCase() ?? ''}`;
    if (!words.every((word) => all.includes(word))) continue;
    (wanted !== '' && name.startsWith(wanted) ? first : others).push(option);
  }
  const found = [...first, ...others];
  return { shown: found.slice(0, most), more: Math.max(0, found.length - most) };
}
