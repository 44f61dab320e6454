import { StartupError } from '../std/startup-error.ts';
import { readOrigin, defaultAddress } from './address.ts';
import { PARTNERS } from './builtin-partners.ts';
import { PRESETS, type Preset } from './presets.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Which `${NAME}` may be read, and where its value may be sent. Each answer is a reason against it; `undefined` allows
 * it.
 */
export interface KeyRules {
  refusalToRead(name: string): string | undefined;
  /** `origin`: the server it would be sent to; `undefined` if it would become part of an address, or is not sent. */
  refusalToSend(name: string, origin: string | undefined): string | undefined;
}

/** The operator's own file may read everything and send it anywhere: its author has access to the environment too. */
export const FILE_RULES: KeyRules = {
  refusalToRead: () => undefined,
  refusalToSend: () => undefined,
};

/** Names of stored keys, each with the origin it was entered for; `undefined` if it was stored before keys had one. */
export type StoredOrigins = ReadonlyMap<string, string | undefined>;

/**
 * For a catalog that is edited in the console. An admin may change the address of a backend, but not where the keys of
 * the old address are sent: otherwise one open session would be enough to send every key to another server.
 */
export function consoleRules(stored: StoredOrigins, env: Environment): KeyRules {
  const listed = readListed(env[LISTED]);
  return {
    refusalToRead(name) {
      if (stored.has(name) || name.endsWith('_API_KEY') || listed.has(name)) return undefined;
      return `must not read ${name}: a catalog edited in the console reads stored provider keys, environment variables named *_API_KEY and those listed in ${LISTED}`;
    },
    refusalToSend(name, origin) {
      if (stored.has(name)) return refusalOfStored(name, stored.get(name), origin);
      const known = KNOWN_HOSTS.get(name);
      const hosts = [...(known === undefined ? [] : [known]), ...(listed.get(name) ?? [])];
      if (hosts.length === 0 || (origin !== undefined && hosts.includes(origin))) return undefined;
      const only = `the environment variable ${name} is a key for ${hosts.join(', ')}`;
      return origin === undefined
        ? `${only} and is not used here`
        : `${only} and is not sent to ${origin}; store a key for that host, or list ${name}=${origin} in ${LISTED}`;
    },
  };
}

/** A key before it is stored. */
export interface EnteredKey {
  readonly name: string;
  readonly value: string;
}

/** The same rules, but for a key that is being entered: it is not yet bound to a server. */
export function allowing(entered: string, rules: KeyRules): KeyRules {
  return {
    refusalToRead: (name) => (name === entered ? undefined : rules.refusalToRead(name)),
    refusalToSend: (name, origin) => (name === entered ? undefined : rules.refusalToSend(name, origin)),
  };
}

function refusalOfStored(
  name: string,
  bound: string | undefined,
  origin: string | undefined,
): string | undefined {
  if (bound !== undefined && bound === origin) return undefined;
  const entered = bound === undefined ? 'without a host' : `for ${bound}`;
  if (origin === undefined) return `the key ${name} was entered ${entered} and is not used here`;
  return `the key ${name} was entered ${entered}; enter it again for ${origin}`;
}

const LISTED = 'TOLLGATE_CATALOG_ENV';

/** `NAME,NAME=https://host,…`: by name, the hosts that the operator allows in addition to the provider's own. */
function readListed(text: string | undefined): ReadonlyMap<string, readonly string[]> {
  const listed = new Map<string, string[]>();
  for (const item of (text ?? '').split(',').map((part) => part.trim())) {
    if (item === '') continue;
    const [, name = '', host] = /^([A-Za-z_][A-Za-z0-9_]*)(?:=(.+))?$/.exec(item) ?? [];
    const origin = host === undefined ? undefined : readOrigin(host);
    if (name === '' || (host !== undefined && origin === undefined))
      throw new StartupError(`${LISTED} must be NAME or NAME=https://host, separated by commas.`);
    listed.set(name, [...(listed.get(name) ?? []), ...(origin === undefined ? [] : [origin])]);
  }
  return listed;
}

const OTHERS: Readonly<Record<string, string>> = {
  COHERE_API_KEY: 'https://api.cohere.com',
  GOOGLE_API_KEY: 'https://generativelanguage.googleapis.com',
  BFL_API_KEY: 'https://api.bfl.ai',
  FAL_API_KEY: 'https://queue.fal.run',
  FAL_KEY: 'https://queue.fal.run',
  REPLICATE_API_TOKEN: 'https://api.replicate.com',
  STABILITY_API_KEY: 'https://api.stability.ai',
};

/** The server that a key is for, by the provider's own name of the environment variable. */
export const KNOWN_HOSTS: ReadonlyMap<string, string> = new Map([
  ...PARTNERS.flatMap(({ kind, baseUrl, variables }) => {
    const address = baseUrl ?? defaultAddress({ kind, options: new Map() });
    return address === undefined
      ? []
      : variables.map((name): [string, string] => [name, new URL(address).origin]);
  }),
  ...Object.values<Preset>(PRESETS).flatMap(({ variable, baseUrl }): [string, string][] =>
    variable === undefined ? [] : [[variable, new URL(baseUrl).origin]],
  ),
  ...Object.entries(OTHERS),
]);
