import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Kysely } from 'kysely';
import { StartupError } from '../../std/startup-error.ts';
import type { Schema } from '../../store/schema.ts';

/** The one secret of an installation; every use has a key of its own, so that none can stand in for another. */
export interface Secret {
  key(purpose: KeyPurpose): Uint8Array;
}

export type KeyPurpose = 'token pepper' | 'sessions' | 'image links' | 'provider keys' | 'codes';

export interface SecretOptions {
  /** `TOLLGATE_SECRET`. */
  readonly given: string | undefined;
  readonly dataDir: string;
  /** Many nodes share one store: the secret must be given, since none of them can make it up. */
  readonly shared: boolean;
  readonly db: Kysely<Schema>;
  readonly now: number;
}

const LEAST_CHARACTERS = 16;
const FINGERPRINT = 'secret.fingerprint';

/** Finds or makes the secret, and refuses one that is not this store's: its tokens would all be strangers. */
export async function openSecret(options: SecretOptions): Promise<Secret> {
  const text = options.given ?? ownSecret(options);
  if (text.length < LEAST_CHARACTERS) {
    throw new StartupError(`TOLLGATE_SECRET must have at least ${LEAST_CHARACTERS} characters.`);
  }
  await requireSame(text, options);
  return { key: (purpose) => new Uint8Array(hkdfSync('sha256', text, 'tollgate', purpose, 32)) };
}

function ownSecret({ dataDir, shared }: SecretOptions): string {
  if (shared) {
    throw new StartupError('With DATABASE_URL set, TOLLGATE_SECRET must be given, the same on every node.');
  }
  const path = join(dataDir, 'secret');
  if (!existsSync(path)) makeSecretFile(dataDir, path);
  return readFileSync(path, 'utf8').trim();
}

/** Written aside and linked into place: of two processes that start at once, one makes it and both read it. */
function makeSecretFile(dataDir: string, path: string): void {
  mkdirSync(dataDir, { recursive: true });
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  try {
    linkSync(draft, path);
  } catch (error) {
    if (!existsSync(path)) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

async function requireSame(text: string, { db, now }: SecretOptions): Promise<void> {
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
