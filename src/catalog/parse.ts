import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { buildCatalog } from './build.ts';
import type { Catalog } from './catalog.ts';
import { catalogFile, type FileSettings } from './file-schema.ts';
import { FILE_RULES, type KeyRules, type Environment } from './key-rules.ts';
import { CatalogError, type PathMistake } from './mistakes.ts';
import { strayReferences } from './secrets.ts';
import { readYaml } from './yaml-source.ts';

export interface ParseOptions {
  /** For messages. */
  readonly fileName: string;
  /** Where `${NAME}` is looked up. */
  readonly env: Environment;
  /** What may be read and sent; by default everything, as in the operator's file. */
  readonly rules?: KeyRules;
  /** Keys of the file besides the catalog's; by default none, and each is refused as unknown. */
  readonly settings?: FileSettings | undefined;
  /** A saved catalog stays in force without the upstreams whose keys belong to other servers; a draft is refused. */
  readonly withheld?: 'refuse' | 'block';
}

/** Reads a catalog or throws a {@link CatalogError} that lists every error with its line, column and key. */
export function parseCatalog(
  text: string,
  { fileName, env, rules = FILE_RULES, settings = {}, withheld = 'refuse' }: ParseOptions,
): Catalog {
  const source = readYaml(text);
  if (source.mistakes.length > 0) throw new CatalogError(fileName, source.mistakes);
  const refuse = (mistakes: readonly PathMistake[]): never => {
    const placed = mistakes.map((mistake) => source.place(mistake));
    throw new CatalogError(
      fileName,
      placed.toSorted((a, b) => a.line - b.line || a.column - b.column),
    );
  };
  const parsed = catalogFile(settings).safeParse(source.value, { error: sentence });
  const stray = strayReferences(source.value);
  if (!parsed.success)
    return refuse([...parsed.error.issues.flatMap((issue) => mistakesOf(issue, [])), ...stray]);
  const built = buildCatalog(parsed.data, { env, rules });
  const mistakes = [...built.mistakes, ...stray, ...(withheld === 'refuse' ? built.withheld : [])];
  if (mistakes.length > 0) return refuse(mistakes);
  const values: Readonly<Record<string, unknown>> = parsed.data;
  return {
    version: versionOf(text, env, built.withheld),
    ...built.catalog,
    settings: new Map(
      Object.entries(settings).map(([key, { label }]) => [key, { label, value: values[key] }]),
    ),
  };
}

/** A changed secret changes the version too, but a version is shown to people, so the hash is truncated. */
function versionOf(text: string, env: Environment, withheld: readonly PathMistake[]): string {
  const hash = createHash('sha256').update(text);
  for (const [, variable = ''] of text.matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g)) {
    hash.update(`\0${variable}\0${env[variable] ?? ''}`);
  }
  for (const { message } of withheld) hash.update(`\0${message}`);
  return hash.digest('hex').slice(0, 12);
}

/** A plain sentence for a field that has no message of its own. */
function sentence(issue: z.core.$ZodRawIssue): string | undefined {
  const missing = issue.input === undefined;
  if (issue.code === 'invalid_type')
    return missing ? 'is missing' : `must be ${EXPECTED[issue.expected] ?? issue.expected}`;
  if (issue.code === 'invalid_value')
    return `${missing ? 'is missing; it ' : ''}must be one of ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'too_big')
    return `must be at most ${issue.maximum}${issue.origin === 'string' ? ' characters' : ''}`;
  return undefined;
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'text',
  boolean: 'true or false',
  object: 'a map',
  record: 'a map',
  array: 'a list',
  number: 'a number',
};

function mistakesOf(issue: z.core.$ZodIssue, above: readonly PropertyKey[]): PathMistake[] {
  const path = [...above, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    const messages = issue.message.split('\n');
    return issue.keys.map((key, index) => ({
      path: [...path, key],
      message: messages[index] ?? issue.message,
      atKey: true,
    }));
  }
  if (issue.code === 'invalid_key')
    return [{ path, message: issue.issues[0]?.message ?? issue.message, atKey: true }];
  // The alternative of a union that got furthest was meant; for a wrong type the union has its own message.
  const meant =
    issue.code === 'invalid_union'
      ? issue.errors.find((branch) => !branch.some((inner) => isWrongShape(inner)))
      : undefined;
  return meant ? meant.flatMap((inner) => mistakesOf(inner, path)) : [{ path, message: issue.message }];
}

function isWrongShape(issue: z.core.$ZodIssue): boolean {
  return issue.path.length === 0 && ['invalid_type', 'invalid_value', 'invalid_union'].includes(issue.code);
}
