import { z } from 'zod';
import { closestWord } from '../std/closest.ts';

/** Unknown keys are refused everywhere: a mistyped `cached_inptu` would otherwise be a wrong price. */
export function strict<Shape extends z.ZodRawShape>(shape: Shape) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    // One line for each key, in their order: each is reported at its own place.
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => unknownKey(key, known)).join('\n')
        : undefined,
  });
}

/** One of these words; the error names the one that was probably meant. */
export function choice<const Values extends readonly [string, ...string[]]>(values: Values) {
  return z.enum(values, { error: ({ input }) => mustBeOneOf(values, input) });
}

/** Never repeats what was given, which may be a secret in the wrong place. */
export function mustBeOneOf(values: readonly string[], given: unknown, listed = values.join(', ')): string {
  if (given === undefined) return `is missing; it must be one of ${listed}`;
  const meant = typeof given === 'string' ? closestWord(given, values) : undefined;
  return `${meant === undefined ? '' : `did you mean ${meant}? It `}must be one of ${listed}`;
}

export function whole(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, error).max(max, error);
}

/** The end of a message about a word that is not known. */
export function meantHint(word: string, known: readonly string[]): string {
  const meant = closestWord(word, known);
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}

function unknownKey(key: string, known: readonly string[]): string {
  const meant = closestWord(key, known);
  const list = known.join(', ');
  return meant === undefined
    ? `unknown key; known here: ${list}`
    : `unknown key; did you mean ${meant}? Known here: ${list}`;
}
