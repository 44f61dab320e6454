/**
 * The request with the spelling of the reference. Google's servers read fields in `snake_case` as well, and one object in
 * place of a list of one; both are in its own examples. What belongs to the client (arguments, results, JSON schemas)
 * stays as it is.
 */
export function inReferenceSpelling(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inReferenceSpelling);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const name = camelCase(key);
      const spelled = OF_THE_CLIENT.has(name) ? inner : inReferenceSpelling(inner);
      return [name, LISTS.has(name) && isObject(spelled) ? [spelled] : spelled];
    }),
  );
}

const OF_THE_CLIENT = new Set([
  'args',
  'response',
  'parameters',
  'parametersJsonSchema',
  'responseSchema',
  'responseJsonSchema',
  '_responseJsonSchema',
]);

const LISTS = new Set(['contents', 'parts', 'tools']);

function camelCase(key: string): string {
  return key.startsWith('_') ? key : key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
