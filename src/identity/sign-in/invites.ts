import { createHash } from 'node:crypto';
import type { Selectable, Transaction } from 'kysely';
import { randomPart } from '../../std/ids.ts';
import type { InviteTable, Schema } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { Fault } from '../../std/fault.ts';

export type InviteRow = Selectable<InviteTable>;

/** An invitation to sign up: shown once, stored as a hash, valid for one account. */
export async function makeInvite(
  store: Store,
  invite: { createdBy: string; expiresAt: number | null; now: number },
): Promise<{ readonly code: string; readonly row: InviteRow }> {
  const code = `inv-${randomPart(22)}`;
  const row: InviteRow = {
    code_hash: hashOf(code),
    hint: `inv-…${code.slice(-4)}`,
    created_by: invite.createdBy,
    created_at: invite.now,
    expires_at: invite.expiresAt,
    used_by: null,
    used_at: null,
  };
  await store.db.insertInto('invite').values(row).execute();
  await store.durable();
  return { code, row };
}

/** Marks an invite as used within the transaction that creates the account, or throws `invite_required`. */
export async function useInvite(
  tx: Transaction<Schema>,
  code: string | undefined,
  use: { by: string; now: number },
) {
  if (code === undefined || code === '') throw refused('You need an invite to sign up here.');
  const { numUpdatedRows } = await tx
    .updateTable('invite')
    .set({ used_by: use.by, used_at: use.now })
    .where('code_hash', '=', hashOf(code.trim()))
    .where('used_at', 'is', null)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', use.now)]))
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw refused('This invite is not valid, was used already, or is too old.');
}

/** Revokes an unused invite. */
export async function removeInvite(store: Store, id: string): Promise<void> {
  const { numDeletedRows } = await store.db
    .deleteFrom('invite')
    .where('code_hash', '=', id)
    .where('used_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (numDeletedRows === 0n) throw new Fault('not_found', 'There is no such unused invite.');
}

function hashOf(code: string): string {
  return createHash('sha256').update(code).digest('hex');
}

function refused(message: string): Fault {
  return new Fault('invite_required', message, { param: 'inviteCode' });
}
