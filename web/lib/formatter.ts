/** Makes a formatter once for each language and its options: that takes longer than a hundred uses of it. */
export function formatters<Options, Format>(
  make: (language: string, options: Options) => Format,
): (language: string, options: Options) => Format {
  const known = new Map<string, Format>();
  return (language, options) => {
    const key = language + JSON.stringify(options);
    const found = known.get(key) ?? make(language, options);
    known.set(key, found);
    return found;
  };
}
