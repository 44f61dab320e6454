import type { Kysely } from 'kysely';
import type { Clock } from '../std/clock.ts';
import { Fault } from '../std/fault.ts';
import type { Schema } from '../store/schema.ts';
import { readOrigin } from './address.ts';
import type { StoredOrigins } from './key-rules.ts';
import { hintOf, seal, sealedOrigin, unseal } from './seal.ts';

export interface ProviderKey {
  /** Referred to as `${NAME}` in the stored catalog; overrides an environment variable of the same name. */
  readonly name: string;
  readonly hint: string;
  /** The server it was entered for, and the only one it is sent to; `undefined`: none until it is entered again. */
  readonly origin: string | undefined;
  readonly updatedAt: number;
}

const MAX_KEYS = 200;
const MAX_LENGTH = 4096;

interface OpenedKeys {
  readonly values: Readonly<Record<string, string>>;
  readonly origins: StoredOrigins;
  readonly unreadable: readonly string[];
}

/** Seals all keys anew, for another secret. Those that the old one cannot open, and those without a host, are left out. */
export async function resealKeys(
  db: Kysely<Schema>,
  { from, to, now }: { readonly from: Uint8Array; readonly to: Uint8Array; readonly now: number },
): Promise<number> {
  const rows = await db.selectFrom('provider_key').select(['name', 'sealed', 'updated_at']).execute();
  let count = 0;
  for (const { name, sealed, updated_at } of rows) {
    const value = unseal(from, name, sealed);
    const origin = sealedOrigin(sealed);
    if (value === undefined || origin === undefined) continue;
    const row = { sealed: seal(to, { name, origin }, value), updated_at: Math.max(now, updated_at + 1) };
    await db.updateTable('provider_key').set(row).where('name', '=', name).execute();
    count++;
  }
  return count;
}

/** Provider keys in the store, encrypted with a key that is not in it. */
export class ProviderKeys {
  readonly #db: Kysely<Schema>;
  readonly #sealingKey: Uint8Array;
  readonly #clock: Clock;

  constructor(db: Kysely<Schema>, sealingKey: Uint8Array, clock: Clock) {
    this.#db = db;
    this.#sealingKey = sealingKey;
    this.#clock = clock;
  }

  async list(): Promise<ProviderKey[]> {
    const rows = await this.#db
      .selectFrom('provider_key')
      .select(['name', 'hint', 'sealed', 'updated_at'])
      .orderBy('name')
      .execute();
    return rows.map(({ name, hint, sealed, updated_at }) => ({
      name,
      hint,
      origin: sealedOrigin(sealed),
      updatedAt: updated_at,
    }));
  }

  /** By name. A key that cannot be decrypted with this server's secret is left out and listed. */
  async open(): Promise<OpenedKeys> {
    const rows = await this.#db.selectFrom('provider_key').select(['name', 'sealed']).execute();
    const values: Record<string, string> = {};
    const origins = new Map<string, string | undefined>();
    const unreadable: string[] = [];
    for (const { name, sealed } of rows) {
      const value = unseal(this.#sealingKey, name, sealed);
      if (value === undefined) {
        unreadable.push(name);
        continue;
      }
      values[name] = value;
      origins.set(name, sealedOrigin(sealed));
    }
    return { values, origins, unreadable };
  }

  async set(name: string, given: string, host: string): Promise<ProviderKey> {
    const value = given.trim();
    const origin = readOrigin(host);
    if (!/^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(name)) {
      throw new Fault('invalid_field', 'A key is named with up to 64 letters, digits and _.', {
        param: 'name',
      });
    }
    if (value === '' || value.length > MAX_LENGTH || /[^\x20-\x7e]/.test(value)) {
      throw new Fault(
        'invalid_field',
        `A key is 1 to ${MAX_LENGTH} printable ASCII characters on one line.`,
        { param: 'value' },
      );
    }
    if (origin === undefined || host.length > MAX_LENGTH) {
      throw new Fault('invalid_field', 'A key is entered for a host such as https://api.example.com.', {
        param: 'host',
      });
    }
    const before = await this.list();
    const known = before.find((key) => key.name === name);
    if (!known && before.length >= MAX_KEYS) {
      throw new Fault('invalid_field', `There are ${MAX_KEYS} keys already; remove one first.`, {
        param: 'name',
      });
    }
    // Other nodes detect changes by this timestamp, so it must increase even within a millisecond.
    const updatedAt = Math.max(this.#clock.now(), (known?.updatedAt ?? 0) + 1);
    const sealed = seal(this.#sealingKey, { name, origin }, value);
    const row = { sealed, hint: hintOf(value), updated_at: updatedAt };
    await this.#db
      .insertInto('provider_key')
      .values({ name, ...row })
      .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
      .execute();
    return { name, hint: row.hint, origin, updatedAt };
  }

  async remove(name: string): Promise<boolean> {
    const result = await this.#db.deleteFrom('provider_key').where('name', '=', name).executeTakeFirst();
    return result.numDeletedRows > 0n;
  }
}
