import type { Store } from '../../store/store.ts';
import { Fault } from '../../std/fault.ts';
import { millis } from './session.ts';

/** More than anyone has devices; without a limit, the list of passkeys to exclude could grow indefinitely. */
export const MAX_PASSKEYS = 20;

interface Passkey {
  readonly id: string;
  readonly name: string;
  /** Where it is stored, if known: a password manager, Windows Hello. */
  readonly keeper: string | null;
  readonly createdAt: number;
  readonly usedAt: number | null;
}

export async function passkeysOf({ db }: Store, accountId: string): Promise<Passkey[]> {
  const rows = await db
    .selectFrom('auth_passkey')
    .select(['id', 'name', 'aaguid', 'createdAt', 'usedAt'])
    .where('userId', '=', accountId)
    .orderBy('createdAt')
    .limit(MAX_PASSKEYS)
    .execute();
  if (rows.length === 0) return [];
  // It takes longer to load than all of our own code, and few people have a passkey.
  const { getAuthenticatorName } = await import('@better-auth/passkey');
  return rows.map((row) => ({
    id: row.id,
    name: row.name ?? '',
    keeper: getAuthenticatorName(row.aaguid ?? undefined) ?? null,
    createdAt: row.createdAt === null ? 0 : millis(row.createdAt),
    usedAt: row.usedAt,
  }));
}

export async function renamePasskey({ db }: Store, of: PasskeyOf, name: string): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('auth_passkey')
    .set({ name })
    .where('id', '=', of.id)
    .where('userId', '=', of.accountId)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw noSuchPasskey();
}

/** It can no longer be used to sign in; its existing sessions continue and are ended separately. */
export async function removePasskey(store: Store, of: PasskeyOf): Promise<void> {
  const { numDeletedRows } = await store.db
    .deleteFrom('auth_passkey')
    .where('id', '=', of.id)
    .where('userId', '=', of.accountId)
    .executeTakeFirstOrThrow();
  if (numDeletedRows === 0n) throw noSuchPasskey();
  await store.durable();
}

interface PasskeyOf {
  readonly accountId: string;
  readonly id: string;
}

function noSuchPasskey(): Fault {
  return new Fault('not_found', 'There is no such passkey.');
}
