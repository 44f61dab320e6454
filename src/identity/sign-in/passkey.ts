import { getAuthenticatorName, passkey } from '@better-auth/passkey';
import { APIError } from 'better-auth/api';
import type { Clock } from '../../std/clock.ts';
import type { Store } from '../../store/store.ts';
import { AuthRefusal } from './refusal.ts';
import { millis } from './session.ts';

/** More than anyone has devices; without a limit, the list of passkeys to exclude could grow indefinitely. */
const MAX_PASSKEYS = 20;

/**
 * Signing in without a password. A passkey belongs to the host of the request, as cookies do. It replaces password and
 * second factor together, so the device must have verified its user (by fingerprint, face or PIN): the library only
 * prefers that, here it is required.
 */
export function passkeyPlugin(store: Store, clock: Clock) {
  return passkey({
    rpName: 'Tollgate',
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    advanced: { webAuthnChallengeCookie: 'passkey' },
    schema: { passkey: { modelName: 'auth_passkey' } },
    registration: {
      afterVerification: async ({ verification, user }) => {
        requireUserVerified(verification.registrationInfo?.userVerified);
        if ((await passkeysOf(store, user.id)).length >= MAX_PASSKEYS)
          throw new APIError('CONFLICT', {
            code: 'conflict',
            message: 'There are too many passkeys already.',
          });
      },
    },
    authentication: {
      afterVerification: async ({ verification, clientData }) => {
        requireUserVerified(verification.authenticationInfo.userVerified);
        await store.db
          .updateTable('auth_passkey')
          .set({ usedAt: clock.now() })
          .where('credentialID', '=', clientData.id)
          .execute();
      },
    },
  });
}

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

function noSuchPasskey(): AuthRefusal {
  return new AuthRefusal('not_found', 'There is no such passkey.');
}

function requireUserVerified(checked: boolean | undefined): void {
  if (checked === true) return;
  throw new APIError('UNAUTHORIZED', {
    code: 'invalid_credentials',
    message: 'The device did not check who is using it.',
  });
}
