import { CatalogError, type Mistake } from '../../src/catalog/mistakes.ts';
import { parseCatalog } from '../../src/catalog/parse.ts';
import { SERVER_SETTINGS } from '../../src/main/server-settings.ts';

const ENV = { OPENAI_API_KEY: 'sk-from-the-environment', BAD: 'two\nlines', EMPTY: '' };

/** `¦` in the text marks the place that the mistake must name. */
export type MistakeCase = [about: string, marked: string, path: string, message: RegExp];

/** A small catalog that is right but for the parts that are given. */
export function catalogText(parts: {
  upstream?: string;
  models?: string;
  endpoint?: string;
  upstreams?: string;
}): string {
  return `upstreams:
  house: ${parts.upstream ?? '{ kind: house }'}
lists:
  list:
    - ${parts.models ?? '{ model: m, input: 1, output: 2 }'}
endpoints:
  chat: { name: Chat, type: chat_completion, ${parts.endpoint ?? 'lists: [list]'}, upstreams: ${parts.upstreams ?? '[house]'} }
`;
}

export function catalogError(text: string): CatalogError {
  try {
    parseCatalog(text, { fileName: 'tollgate.yaml', env: ENV, settings: SERVER_SETTINGS });
  } catch (error) {
    if (error instanceof CatalogError) return error;
    throw error;
  }
  throw new Error('there was no mistake');
}

/** The mistakes of a marked text, and the place of its mark. */
export function markedMistakes(marked: string): {
  mistakes: readonly Mistake[];
  place: { line: number; column: number };
} {
  const [before = '', after, ...more] = marked.split('¦');
  if (after === undefined || more.length > 0) throw new Error('mark one place');
  const place = { line: before.split('\n').length, column: before.length - before.lastIndexOf('\n') };
  return { mistakes: catalogError(before + after).mistakes, place };
}
