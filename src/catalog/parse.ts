import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { buildCatalog, type Built } from './build.ts';
import type { Catalog } from './catalog.ts';
import { catalogFile, type CatalogFile, type FileSettings } from './file-schema.ts';
import { FILE_RULES, type KeyRules, type Environment } from './key-rules.ts';
import { CatalogError, pathText, type Mistake, type PathMistake } from './mistakes.ts';
import { strayReferences } from './secrets.ts';
import { isCatalogMap, storedData, storedText, type CatalogMap } from './catalog-data.ts';
import { readYaml, type CatalogText } from './yaml-source.ts';

interface ParseOptions {
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
export function parseCatalog(text: string, options: ParseOptions): Catalog {
  return builtCatalog(text, inspectCatalog(text, options), options);
}

/** The catalog that was inspected, if it has no errors. */
export function builtCatalog(text: string, inspected: InspectedCatalog, options: ParseOptions): Catalog {
  const { mistakes, file, built } = inspected;
  if (mistakes.length > 0 || !file || !built) throw new CatalogError(options.fileName, mistakes);
  const values: Readonly<Record<string, unknown>> = file;
  return {
    version: versionOf(text, options.env, built.withheld),
    ...built.catalog,
    settings: new Map(
      Object.entries(options.settings ?? {}).map(([key, { label }]) => [key, { label, value: values[key] }]),
    ),
  };
}

/** A text with its errors, and what of it can be read in spite of them. */
export interface InspectedCatalog {
  readonly mistakes: readonly Mistake[];
  /** As it is written; absent if the text is no YAML. */
  readonly data?: CatalogMap | undefined;
  /** Both absent if the text has not the shape of a catalog. */
  readonly file?: CatalogFile | undefined;
  readonly built?: Built | undefined;
}

export function inspectCatalog(
  text: string,
  { env, rules = FILE_RULES, settings = {}, withheld = 'refuse' }: Omit<ParseOptions, 'fileName'>,
): InspectedCatalog {
  const source = readText(text);
  if (source.mistakes.length > 0) return { mistakes: source.mistakes };
  const placed = (mistakes: readonly PathMistake[]): Mistake[] =>
    source.placed(mistakes).toSorted((a, b) => a.line - b.line || a.column - b.column);
  const parsed = catalogFile(settings).safeParse(source.value, { error: sentence });
  const stray = strayReferences(source.value);
  const data = isCatalogMap(source.value) ? source.value : undefined;
  if (!parsed.success) {
    const mistakes = parsed.error.issues.flatMap((issue) => mistakesOf(issue, []));
    return { mistakes: placed([...mistakes, ...stray]), data };
  }
  const built = buildCatalog(parsed.data, { env, rules });
  const mistakes = [...built.mistakes, ...stray, ...(withheld === 'refuse' ? built.withheld : [])];
  return { mistakes: placed(mistakes), data, file: parsed.data, built };
}

/** What is stored is data, in which errors have no position but their path; everything else is YAML. */
function readText(text: string): CatalogText {
  const data = storedData(text);
  if (!data) return readYaml(text);
  const unplaced = ({ path, message, missingKey }: PathMistake): Mistake => ({
    line: 0,
    column: 0,
    path: pathText(path),
    message,
    ...(missingKey && { missingKey }),
  });
  return { value: data, mistakes: [], placed: (mistakes) => mistakes.map(unplaced) };
}

/** The data of a text, whatever it says; `undefined` if it is no YAML, or no map. */
export function catalogData(text: string): CatalogMap | undefined {
  const { value, mistakes } = readText(text);
  return mistakes.length === 0 && isCatalogMap(value) ? value : undefined;
}

/** A text in the form in which it would be stored; one that is no catalog at all stays as it is. */
export function canonicalText(text: string): string {
  if (storedData(text)) return text;
  const data = catalogData(text);
  return data ? storedText(data) : text;
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
