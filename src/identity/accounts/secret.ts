import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Kysely } from 'kysely';
import { StartupError } from '../../std/startup-error.ts';
import type { Schema } from '../../store/schema.ts';

/** The secret of an installation; every purpose has a derived key of its own, so that no key works for another purpose. */
export interface Secret {
  key(purpose: KeyPurpose): Uint8Array;
}

export type KeyPurpose = 'token pepper' | 'sessions' | 'image links' | 'provider keys' | 'codes';

export interface SecretOptions {
  /** `TOLLGATE_SECRET`. */
  readonly given: string | undefined;
  readonly dataDir: string;
  /** Whether several nodes share the store: then the secret must be configured, since no node can create it for the others. */
  readonly shared: boolean;
  readonly db: Kysely<Schema>;
  readonly now: number;
}

const MIN_CHARACTERS = 16;
const FINGERPRINT = 'secret.fingerprint';

/** Reads or creates the secret, and refuses one that this store was not created with: no token would be valid. */
export async function openSecret(options: SecretOptions): Promise<Secret> {
  const text = options.given ?? secretFromFile(options);
  if (text.length < MIN_CHARACTERS) {
    throw new StartupError(`TOLLGATE_SECRET must have at least ${MIN_CHARACTERS} characters.`);
  }
  await requireSameSecret(text, options);
  return { key: (purpose) => new Uint8Array(hkdfSync('sha256', text, 'tollgate', purpose, 32)) };
}

function secretFromFile({ dataDir, shared }: SecretOptions): string {
  if (shared) {
    throw new StartupError('With DATABASE_URL set, TOLLGATE_SECRET must be given, the same on every node.');
  }
  const path = join(dataDir, 'secret');
  if (!existsSync(path)) makeSecretFile(dataDir, path);
  return readFileSync(path, 'utf8').trim();
}

/** Written to a temporary file and linked: of two processes that start at once, one creates it and both read it. */
function makeSecretFile(dataDir: string, path: string): void {
  mkdirSync(dataDir, { recursive: true });
  const temporaryPath = `${path}.${process.pid}`;
  writeFileSync(temporaryPath, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  try {
    linkSync(temporaryPath, path);
  } catch (error) {
    if (!existsSync(path)) throw error;
  } finally {
    rmSync(temporaryPath, { force: true });
  }
}

async function requireSameSecret(text: string, { db, now }: SecretOptions): Promise<void> {
  const value = createHash('sha256').update(`fingerprint:${text}`).digest('hex').slice(0, 32);
  await db
    .insertInto('setting')
    .values({ key: FINGERPRINT, value, updated_at: now })
    .onConflict((conflict) => conflict.column('key').doNothing())
    .execute();
  const stored = await db
    .selectFrom('setting')
    .select('value')
    .where('key', '=', FINGERPRINT)
    .executeTakeFirstOrThrow();
  if (stored.value !== value) {
    throw new StartupError(
      'TOLLGATE_SECRET is not the one this store was made with. Every node needs the same one.',
    );
  }
}
