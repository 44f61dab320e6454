import { REFERENCE } from './file-schema.ts';
import type { Environment, KeyRules } from './key-rules.ts';
import type { Path, PathMistake } from './mistakes.ts';

/**
 * Resolves whole `${NAME}` values; each failure is an error at the value's own line. Messages never contain a value.
 */
export class References {
  readonly mistakes: PathMistake[] = [];
  /** Values that exist but may not be sent where the catalog would send them. */
  readonly withheld: PathMistake[] = [];
  readonly #env: Environment;
  readonly #rules: KeyRules;

  constructor(env: Environment, rules: KeyRules) {
    this.#env = env;
    this.#rules = rules;
  }

  /** The value itself, or that of the variable it names, for a server; `undefined` after an error. */
  resolve(value: string, path: Path, origin: string | undefined): string | undefined {
    const variable = REFERENCE.exec(value)?.[1];
    if (variable === undefined) {
      if (!value.includes('${')) return value;
      this.mistakes.push({
        path,
        message: 'must be a whole ${ENV_NAME}; text around it or within it is not supported',
      });
      return undefined;
    }
    if (RESERVED_VARIABLES.test(variable)) {
      this.mistakes.push({
        path,
        message: `must not use ${variable}: it is Tollgate's own and is sent to nobody`,
      });
      return undefined;
    }
    const unreadable = this.#rules.refusalToRead(variable);
    const missingKey = origin === undefined ? undefined : { name: variable, origin };
    if (unreadable !== undefined) {
      this.mistakes.push({ path, message: unreadable, missingKey });
      return undefined;
    }
    const found = this.#env[variable]?.trim();
    if (found === undefined || found === '') {
      const message = `needs the environment variable ${variable}, which is not set`;
      this.mistakes.push({ path, message, missingKey });
      return undefined;
    }
    if (/[^\x20-\x7e]/.test(found)) {
      this.mistakes.push({ path, message: `needs ${variable} to be printable ASCII on one line` });
      return undefined;
    }
    const misdirected = this.#rules.refusalToSend(variable, origin);
    if (misdirected !== undefined) {
      this.withheld.push({ path, message: misdirected });
      return undefined;
    }
    return found;
  }

  /** As {@link resolve}, for a value that would itself be a secret. */
  resolveSecret(value: string, path: Path, origin: string | undefined): string | undefined {
    if (value.includes('${')) return this.resolve(value, path, origin);
    this.mistakes.push({
      path,
      message: 'must be ${ENV_NAME}: secrets are read from the environment and never written here',
    });
    return undefined;
  }
}

/** Otherwise whoever may edit the catalog could have these sent to their own server. */
const RESERVED_VARIABLES = /^(TOLLGATE_.*|DATABASE_URL|PG[A-Z]+)$/;
const SECRET_HEADERS =
  /^(proxy-)?authorization$|^cookie$|(api|access|auth|secret|subscription)[-_]?(key|token)|secret|password/i;
const SECRET_OPTIONS = /secret|password|token|access_key/i;

export function isSecretHeader(name: string): boolean {
  return SECRET_HEADERS.test(name);
}

export function isSecretOption(name: string): boolean {
  return SECRET_OPTIONS.test(name);
}

/** `${…}` where it has no meaning would be taken literally, which is never intended. */
export function strayReferences(value: unknown, path: Path = []): PathMistake[] {
  if (typeof value === 'string') {
    const stray = value.includes('${') && !mayRefer(path);
    return stray
      ? [
          {
            path,
            message: '${…} works only in base_url, api_key, api_keys, headers and options of an upstream',
          },
        ]
      : [];
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => strayReferences(item, [...path, index]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => strayReferences(item, [...path, key]));
}

const REFERRING_FIELDS: ReadonlySet<string> = new Set([
  'base_url',
  'api_key',
  'api_keys',
  'headers',
  'options',
]);

function mayRefer(path: Path): boolean {
  return path[0] === 'upstreams' && REFERRING_FIELDS.has(String(path[2]));
}
