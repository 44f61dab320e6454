/** Keeps one formatter for each language and options: creating one takes longer than using it a hundred times. */
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
