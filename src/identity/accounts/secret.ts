import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Kysely } from 'kysely';
import { openBytes, sealBytes } from '../../std/sealed-bytes.ts';
import { StartupError } from '../../std/startup-error.ts';
import type { Schema } from '../../store/schema.ts';

/** The secret of an installation; every purpose has a derived key of its own, so that no key works for another purpose. */
export interface Secret {
  key(purpose: KeyPurpose): Uint8Array;
}

type KeyPurpose =
  | 'token pepper'
  | 'sessions'
  | 'image links'
  | 'receipt links'
  | 'provider keys'
  | 'codes'
  | 'outbox'
  | 'webhooks'
  | 'metrics'
  | 'mailboxes'
  | 'responses';

/** Mailboxes were first hashed with the key of sessions, and have to be found again. */
const DERIVED_FROM: Partial<Record<KeyPurpose, string>> = { mailboxes: 'sessions' };

interface SecretOptions {
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
/** Keys of an earlier secret that are still in use, sealed with the one in force. */
const KEPT_KEYS = 'secret.kept_keys';

/** Reads or creates the secret, and refuses one that this store was not created with: no token would be valid. */
export async function openSecret(options: SecretOptions): Promise<Secret> {
  const text = longEnough(options.given ?? (await secretFromFile(options)));
  await requireSameSecret(text, options);
  const kept = await keptKeys(text, options.db);
  return { key: (purpose) => kept[purpose] ?? derivedKey(text, DERIVED_FROM[purpose] ?? purpose) };
}

/**
 * Makes `next` the secret of the store. With the secret so far, tokens and codes stay valid and mailboxes are known again:
 * their keys are kept, sealed with the new one. Without it they are lost, and so are the tokens.
 */
export async function replaceSecret(
  db: Kysely<Schema>,
  next: string,
  { before, now }: { readonly before: Secret | undefined; readonly now: number },
): Promise<void> {
  longEnough(next);
  await saveSetting(db, { key: FINGERPRINT, value: fingerprintOf(next), updated_at: now });
  if (before) await saveSetting(db, { key: KEPT_KEYS, value: sealKeys(next, before), updated_at: now });
  else await db.deleteFrom('setting').where('key', '=', KEPT_KEYS).execute();
}

/** Where a store without `TOLLGATE_SECRET` has it, and where the next one waits until the store has changed over. */
export function secretFiles(dataDir: string): { readonly current: string; readonly next: string } {
  return { current: join(dataDir, 'secret'), next: join(dataDir, 'secret.next') };
}

/** A new secret in the file beside the one in force; the start that finds that the store uses it puts it in place. */
export function makeNextSecret(dataDir: string): string {
  const text = randomBytes(32).toString('hex');
  writeFileSync(secretFiles(dataDir).next, `${text}\n`, { mode: 0o600 });
  return text;
}

/** What is known of the secret here, without a store: from the environment or the data folder. */
export function secretAtHand(given: string | undefined, dataDir: string): string | undefined {
  const { current } = secretFiles(dataDir);
  if (given !== undefined && given.trim() !== '') return given;
  return existsSync(current) ? readFileSync(current, 'utf8').trim() : undefined;
}

/** Whether a store with this fingerprint was made with this secret. */
export function isSecretOf(text: string, fingerprint: string): boolean {
  return fingerprintOf(text) === fingerprint;
}

function longEnough(text: string): string {
  if (text.length >= MIN_CHARACTERS) return text;
  throw new StartupError(`TOLLGATE_SECRET must have at least ${MIN_CHARACTERS} characters.`);
}

function derivedKey(text: string, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', text, 'tollgate', purpose, KEY_BYTES));
}

async function secretFromFile({ dataDir, shared, db }: SecretOptions): Promise<string> {
  if (shared) {
    throw new StartupError('With DATABASE_URL set, TOLLGATE_SECRET must be given, the same on every node.');
  }
  const { current, next } = secretFiles(dataDir);
  const fingerprint = await readSetting(db, FINGERPRINT);
  if (existsSync(next) && fingerprintOf(readFileSync(next, 'utf8').trim()) === fingerprint)
    renameSync(next, current);
  if (!existsSync(current)) {
    if (fingerprint !== undefined)
      throw new StartupError(
        `The secret of this store is lost: neither TOLLGATE_SECRET nor ${current} is there. Put it back from a backup, or run 'tollgate secret reset' (every token and stored provider key is lost; accounts and balances stay).`,
      );
    makeSecretFile(dataDir, current);
  }
  return readFileSync(current, 'utf8').trim();
}

/** Written to a temporary file and linked: of two processes that start at once, one creates it and both read it. */
function makeSecretFile(dataDir: string, path: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
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
  const value = fingerprintOf(text);
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

function fingerprintOf(text: string): string {
  return createHash('sha256').update(`fingerprint:${text}`).digest('hex').slice(0, 32);
}

type KeptKeys = Partial<Record<KeyPurpose, Uint8Array>>;

/**
 * What is known here only by a keyed hash, and must be known again: a token and a code that a customer has, and a mailbox
 * that had its welcome credit. A secret that was replaced before there was a key for mailboxes has kept the first two.
 */
const KEPT_PURPOSES = ['token pepper', 'codes', 'mailboxes'] as const satisfies readonly KeyPurpose[];
const KEY_BYTES = 32;

function sealKeys(text: string, before: Secret): string {
  const keys = Buffer.concat(KEPT_PURPOSES.map((purpose) => before.key(purpose)));
  return sealBytes(derivedKey(text, 'kept keys'), '', keys).toString('base64url');
}

async function keptKeys(text: string, db: Kysely<Schema>): Promise<KeptKeys> {
  const stored = await readSetting(db, KEPT_KEYS);
  if (stored === undefined) return {};
  const keys = openBytes(derivedKey(text, 'kept keys'), '', Buffer.from(stored, 'base64url'));
  return Object.fromEntries(
    KEPT_PURPOSES.slice(0, keys.length / KEY_BYTES).map((purpose, index) => [
      purpose,
      new Uint8Array(keys.subarray(index * KEY_BYTES, (index + 1) * KEY_BYTES)),
    ]),
  );
}

async function readSetting(db: Kysely<Schema>, key: string): Promise<string | undefined> {
  const row = await db.selectFrom('setting').select('value').where('key', '=', key).executeTakeFirst();
  return row?.value;
}

async function saveSetting(
  db: Kysely<Schema>,
  row: { readonly key: string; readonly value: string; readonly updated_at: number },
): Promise<void> {
  await db
    .insertInto('setting')
    .values(row)
    .onConflict((conflict) => conflict.column('key').doUpdateSet(row))
    .execute();
}

/**
 * What lets its bearer read `/metrics`: the operator's choice, or else derived from the secret, so that it is the same on
 * every node and in every worker without being kept anywhere.
 */
export function metricsToken(given: string | undefined, secret: Secret): string {
  return given ?? `metrics-${Buffer.from(secret.key('metrics')).toString('base64url')}`;
}
