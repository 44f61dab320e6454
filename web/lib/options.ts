export interface Option {
  readonly value: string;
  readonly label: string;
  readonly group?: string | undefined;
  readonly disabled?: boolean | undefined;
}

interface FoundOptions {
  readonly shown: readonly Option[];
  /** How many more were found than are shown. */
  readonly more: number;
}

/** How many are shown at once; the rest are found by typing. */
const MOST_OPTIONS = 50;

/** The options that contain every word of a text, in their order, but first those whose label begins with the text. */
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
