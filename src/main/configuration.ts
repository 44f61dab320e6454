import { z } from 'zod';
import type { EffectiveConfiguration, EffectiveSetting } from '../cli/command.ts';
import type { FileSettings } from '../catalog/file-schema.ts';
import { ENVIRONMENT, readText, unknownVariables, type EnvironmentSetting } from './environment.ts';
import type { ServerEnvironment } from './environment-file.ts';
import { SERVER_SETTINGS } from './server-settings.ts';

/** A key of the catalog's file that is no part of what is sold: `log.level`. */
interface FileSetting {
  readonly path: string;
  readonly about: string;
  /** The value when the file does not say. */
  readonly fallback: unknown;
}

/** What the catalog in force says about the server, by top-level key, and where that catalog is. */
export interface FileValues {
  readonly from: string;
  readonly values: ReadonlyMap<string, unknown>;
}

/** Every setting with its value and its origin; secrets are hidden. */
export function effectiveConfiguration(
  environment: ServerEnvironment,
  file: FileValues | undefined,
): EffectiveConfiguration {
  return {
    settings: [
      ...Object.entries(ENVIRONMENT).map(([name, setting]) =>
        fromEnvironment(environment, name as never, setting),
      ),
      ...fileSettings(SERVER_SETTINGS).map((setting) => fromFile(setting, file)),
    ],
    unknown: unknownVariables(environment.env),
  };
}

function fromEnvironment(
  { env, file, fromFile }: ServerEnvironment,
  name: keyof typeof ENVIRONMENT,
  { fallback, secret, range }: EnvironmentSetting,
): EffectiveSetting {
  const text = readText(env, name);
  if (text === undefined) return { name, value: fallback ?? null, source: 'default' };
  const value = secret === undefined ? (range ? Number(text) : text) : hidden(text, secret);
  return { name, value, source: fromFile.has(name) ? file : 'environment' };
}

const HIDDEN = '(hidden)';

function hidden(text: string, secret: 'whole' | 'password'): string {
  if (secret === 'whole' || !URL.canParse(text)) return HIDDEN;
  const url = new URL(text);
  // A password can be a parameter of the address too.
  return `${url.protocol}//${url.username === '' ? '' : `${url.username}@`}${url.host}${url.pathname}`;
}

function fromFile({ path, fallback }: FileSetting, file: FileValues | undefined): EffectiveSetting {
  const [key = '', ...inner] = path.split('.');
  const value = inner.reduce<unknown>(
    (outer, part) => (isMap(outer) ? outer[part] : undefined),
    file?.values.get(key),
  );
  const isSet = value !== undefined && JSON.stringify(value) !== JSON.stringify(fallback);
  if (!isSet || !file) return { name: path, value: fallback ?? null, source: 'default' };
  return { name: path, value: /token|secret|password/.test(path) ? HIDDEN : value, source: file.from };
}

/** The keys of the file with their descriptions, from the schema that reads it. */
export function fileSettings(settings: FileSettings): FileSetting[] {
  return Object.entries(settings).flatMap(([key, { schema }]) =>
    leavesOf(key, z.toJSONSchema(schema, { io: 'input', target: 'draft-7' })),
  );
}

type Described = z.core.JSONSchema.BaseSchema;

function leavesOf(path: string, schema: Described): FileSetting[] {
  if (schema.properties === undefined)
    return [{ path, about: schema.description ?? '', fallback: schema.default }];
  return Object.entries(schema.properties).flatMap(([key, inner]) =>
    typeof inner === 'boolean' ? [] : leavesOf(`${path}.${key}`, inner),
  );
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
