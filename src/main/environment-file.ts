import { readFileSync } from 'node:fs';
import { SettingError } from '../std/startup-error.ts';
import { ENVIRONMENT, readText, type Env } from './environment.ts';

/** What is set, and what of it comes from the file that the service and an operator's shell share. */
export interface ServerEnvironment {
  readonly env: Env;
  readonly file: string;
  /** Variables that only the file has. */
  readonly fromFile: ReadonlySet<string>;
  /** The file is there, but this user cannot read it. */
  readonly unreadable?: string | undefined;
}

/** The environment, completed by the file that it names. What the environment has wins. */
export function readEnvironment(env: Env): ServerEnvironment {
  const named = readText(env, 'TOLLGATE_ENV_FILE');
  const file = named ?? ENVIRONMENT.TOLLGATE_ENV_FILE.fallback;
  try {
    const values = parseEnvironmentFile(readFileSync(file, 'utf8'), file);
    const added = [...values].filter(([name]) => env[name] === undefined);
    return {
      env: { ...env, ...Object.fromEntries(added) },
      file,
      fromFile: new Set(added.map(([name]) => name)),
    };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
    if (code === undefined) throw error;
    if (named !== undefined)
      throw new SettingError(`TOLLGATE_ENV_FILE is ${file}, which cannot be read (${code}).`);
    if (code === 'ENOENT') return { env, file, fromFile: new Set() };
    const unreadable = `${file} cannot be read by ${machineUser()} (${code}), so its settings are not used. Run this as root.`;
    return { env, file, fromFile: new Set(), unreadable };
  }
}

/**
 * Lines of `NAME=value`, as systemd reads them from an `EnvironmentFile`; a value may stand in quotes. What systemd would
 * read differently is refused, so that the service and a command never have two values of one setting.
 */
function parseEnvironmentFile(text: string, file: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const [index, whole] of text.split('\n').entries()) {
    const line = whole.trim();
    if (line === '' || line.startsWith('#') || line.startsWith(';')) continue;
    const [, name, written = ''] = /^([A-Za-z_]\w*)=(.*)$/.exec(line) ?? [];
    const value = valueOf(written);
    if (name === undefined || value === undefined)
      throw new SettingError(
        `${file}, line ${index + 1}: must be NAME=value. A value with quotes or backslashes stands in single quotes.`,
      );
    values.set(name, value);
  }
  return values;
}

function valueOf(written: string): string | undefined {
  const [, single, double] = /^(?:'([^']*)'|"([^"\\]*)")$/.exec(written) ?? [];
  if (single !== undefined || double !== undefined) return single ?? double;
  return /['"\\]/.test(written) ? undefined : written;
}

/**
 * Who runs this process, by the number that the system gives it and not by a variable that anybody can set. For root,
 * who could change any record anyway, the user who called sudo is named too.
 */
export function machineUser(): string {
  const uid = process.getuid?.();
  if (uid === undefined) return 'unknown';
  const sudoUser = uid === 0 ? process.env['SUDO_USER'] : undefined;
  const name = nameOf(uid) ?? `number ${uid}`;
  return sudoUser === undefined || sudoUser === '' ? name : `${sudoUser} as ${name}`;
}

function nameOf(uid: number): string | undefined {
  try {
    const users = readFileSync('/etc/passwd', 'utf8').split('\n');
    return users.map((line) => line.split(':')).find((fields) => fields[2] === String(uid))?.[0];
  } catch {
    // A system without this file names its users elsewhere; the number is as good.
    return undefined;
  }
}
