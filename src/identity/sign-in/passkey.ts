import { getAuthenticatorName, passkey } from '@better-auth/passkey';
import { APIError } from 'better-auth/api';
import type { Clock } from '../../std/clock.ts';
import type { Store } from '../../store/store.ts';
import { AuthRefusal } from './refusal.ts';
import { millis } from './session.ts';

/** Nobody has this many devices; without an end, the list of what to exclude would grow with every one. */
const MAX_PASSKEYS = 20;

/**
 * Signing in without a password. The site a passkey belongs to is the host of the request, like the cookies are. A
 * passkey stands for password and second factor together, so the device must have checked its owner (a finger, a face,
 * a PIN): the library only prefers that, here it is required.
 */
export function passkeyPlugin(store: Store, clock: Clock) {
  return passkey({
    rpName: 'Tollgate',
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    advanced: { webAuthnChallengeCookie: 'passkey' },
    schema: { passkey: { modelName: 'auth_passkey' } },
    registration: {
      afterVerification: async ({ verification, user }) => {
        requireOwnerChecked(verification.registrationInfo?.userVerified);
        if ((await passkeysOf(store, user.id)).length >= MAX_PASSKEYS)
          throw new APIError('CONFLICT', {
            code: 'conflict',
            message: 'There are too many passkeys already.',
          });
      },
    },
    authentication: {
      afterVerification: async ({ verification, clientData }) => {
        requireOwnerChecked(verification.authenticationInfo.userVerified);
        await store.db
          .updateTable('auth_passkey')
          .set({ usedAt: clock.now() })
          .where('credentialID', '=', clientData.id)
          .execute();
      },
    },
  });
}

export interface Passkey {
  readonly id: string;
  readonly name: string;
  /** What keeps it, where that is known: a password manager, Windows Hello. */
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

/** It opens nothing from now on; sessions it has opened go on, and are ended where sessions are. */
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

function requireOwnerChecked(checked: boolean | undefined): void {
  if (checked === true) return;
  throw new APIError('UNAUTHORIZED', {
    code: 'invalid_credentials',
    message: 'The device did not check who is using it.',
  });
}
