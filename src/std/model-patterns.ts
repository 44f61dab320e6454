/** Patterns of `endpoint/model`: so many in one list, each so long at most. */
export const MOST_PATTERNS = 50;
export const LONGEST_PATTERN = 128;

/** Whether it is the pattern of a model, of all models of an endpoint, or of everything. */
export function isModelPattern(text: string): boolean {
  return text.length <= LONGEST_PATTERN && /^[^\s/]+\/\S+$|^\*$/.test(text);
}

export function matchesAny(
  patterns: readonly string[],
  { endpoint, model }: { readonly endpoint: string; readonly model: string },
): boolean {
  if (patterns.length === 0) return false;
  const name = `${endpoint}/${model}`;
  return patterns.some((pattern) => matches(pattern, name));
}

/** `*` stands for any characters, none included; everything else for itself. No pattern takes more than two passes. */
function matches(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length)
    return false;
  let from = first.length;
  const end = name.length - last.length;
  for (const part of rest) {
    const at = name.indexOf(part, from);
    if (at === -1 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}
