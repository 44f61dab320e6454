/** The object without its null and undefined fields: on the wire, `null` means absent. */
export function present<T extends Record<string, unknown>>(fields: T): Present<T> {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) if (value != null) kept[key] = value;
  // The loop above is the proof; the compiler cannot follow it.
  return kept as Present<T>;
}

type Present<T> = { [K in keyof T]?: NonNullable<T[K]> };
