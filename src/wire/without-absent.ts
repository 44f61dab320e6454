/** The object without its null and undefined fields: on the wire, `null` means absent. */
export function withoutAbsent<T extends Record<string, unknown>>(fields: T): Present<T> {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) if (!isAbsent(value)) kept[key] = value;
  // The loop above proves it; the compiler cannot follow.
  return kept as Present<T>;
}

export function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

type Present<T> = { [K in keyof T]?: NonNullable<T[K]> };
