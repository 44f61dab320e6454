import type { Kysely, Transaction } from 'kysely';
import { removedEmail } from '../../ledger/decide.ts';
import type { Ledger } from '../../ledger/port.ts';
import type { Clock } from '../../std/clock.ts';
import { Fault } from '../../std/fault.ts';
import type { AccountId } from '../../std/ids.ts';
import { formatUsd, nanoUsd } from '../../std/money.ts';
import { slowQuery } from '../../store/background-thread.ts';
import type { Schema } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { lockAdmins, requireAnAdmin } from '../sign-in/setup.ts';
import { chooseNoTags } from './account-limits.ts';
import { endInTeam } from './teams.ts';

interface RemovalParts {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** Deletes every image of an account, wherever they are kept. */
  readonly images: { removeOfAccount(accountId: string): Promise<void> };
}

interface Removal {
  readonly accountId: string;
  /** Why a balance is written off; without one, only an account without a balance is removed. */
  readonly reason?: string | undefined;
  readonly actor: string;
}

/**
 * Removes the person behind an account: address, name, token, ways to sign in, images and jobs, kept answers, stored
 * responses and conversations, tags of requests, refused calls, links to receipts, a draft of the catalog. Its books stay under its id, statements among them. It is closed
 * first, so that nothing new can begin; after an interruption this can simply be called again. What they used in a team stays
 * with the team, under the number of an account that has ended; the last owner of a team is not removed.
 */
export async function removeAccount(
  parts: RemovalParts,
  removal: Removal,
): Promise<{ readonly writtenOff: number }> {
  const { store } = parts;
  await refuseUnlessReady(parts, removal);
  await closeAccount(parts, removal.accountId);
  const writtenOff = await writeOff(parts, removal);
  for (const { id } of [{ id: removal.accountId }, ...(await membershipsOf(store.db, removal.accountId))]) {
    await parts.images.removeOfAccount(id);
    await storeNoResponses(parts, id);
    await deleteResponses(store, id);
    for (const table of OWNED) await deleteOwned(store, table, id);
  }
  await deleteTags(parts, removal.accountId);
  await store.db.transaction().execute((tx) => anonymise(tx, removal.accountId, parts.clock.now()));
  await store.durable();
  return { writtenOff };
}

async function refuseUnlessReady({ store }: RemovalParts, { accountId, reason }: Removal): Promise<void> {
  const account = await store.db
    .selectFrom('account')
    .select(['balance', 'open_holds', 'email'])
    .where('id', '=', accountId)
    .where('role', '!=', 'system')
    .where('kind', '=', 'person')
    .executeTakeFirst();
  if (!account) throw new Fault('not_found', 'There is no such account.');
  if (account.email === removedEmail(accountId))
    throw new Fault('invalid_field', 'This account was removed before.', { param: 'account' });
  const memberships = await membershipsOf(store.db, accountId);
  const running = memberships.reduce((sum, { open_holds }) => sum + open_holds, account.open_holds);
  if (running > 0) throw stillRunning(running);
  if (account.balance > 0 && reason === undefined) {
    throw new Fault(
      'invalid_field',
      `This account has a balance of $${formatUsd(nanoUsd(account.balance))}. Pay it out and adjust it to zero, or name a reason for writing it off.`,
      { param: 'reason' },
    );
  }
}

/** In one statement with the look at its holds: a request that is admitted at this moment is either seen or refused. */
async function closeAccount({ store, clock }: RemovalParts, accountId: string): Promise<void> {
  await store.db.transaction().execute(async (tx) => {
    await lockAdmins(tx, clock.now());
    const { numUpdatedRows } = await tx
      .updateTable('account')
      .set({ status: 'disabled', role: 'user', token_hash: null, token_hint: null, token_used_at: null })
      .where('id', '=', accountId)
      .where('open_holds', '=', 0)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows === 0n) throw stillRunning(1);
    await requireAnAdmin(tx);
    await tx.deleteFrom('operator').where('account_id', '=', accountId).execute();
    for (const member of await membershipsOf(tx, accountId)) {
      if (member.ended_at === null) await endInTeam(tx, member, clock.now());
      if (member.open_holds > 0) throw stillRunning(member.open_holds);
    }
    await tx.deleteFrom('auth_session').where('userId', '=', accountId).execute();
  });
  await store.durable();
}

/** The accounts with which a person spends, or has spent, the balance of a team. */
async function membershipsOf(db: Kysely<Schema>, personId: string) {
  return await db
    .selectFrom('account')
    .select(['id', 'wallet_id', 'open_holds', 'ended_at'])
    .where('person_id', '=', personId)
    .orderBy('id')
    .execute();
}

async function writeOff({ store, ledger, clock }: RemovalParts, { accountId, reason, actor }: Removal) {
  const { balance } = await store.db
    .selectFrom('account')
    .select('balance')
    .where('id', '=', accountId)
    .executeTakeFirstOrThrow();
  if (balance === 0) return 0;
  const cause = `written off: ${reason ?? 'account removed'}`;
  await ledger.post({
    accountId: accountId as AccountId,
    kind: 'adjustment',
    amount: -balance,
    cause,
    actor,
    once: `written-off:${accountId}:${clock.now()}`,
  });
  return balance;
}

/** A response whose request has just ended is not stored any more, and the row that says so has nothing but the id. */
async function storeNoResponses({ store, clock }: RemovalParts, accountId: string): Promise<void> {
  const off = { bytes: 0, off_at: clock.now() };
  await store.db
    .insertInto('response_storage')
    .values({ account_id: accountId, ...off })
    .onConflict((conflict) => conflict.column('account_id').doUpdateSet(off))
    .execute();
}

const TOGETHER = 100;

/** Tables that are deleted from by a bounded number of rows at a time, with the key for it. */
const OWNED_KEYS = {
  image_job: 'id',
  answer: 'idempotency_key',
  refused_call: 'id',
  conversation_item: 'id',
  conversation: 'id',
} as const;
type OwnedTable = keyof typeof OWNED_KEYS;
const OWNED = Object.keys(OWNED_KEYS) as OwnedTable[];

/** They lie among those of all others, and are looked through until none is left. */
async function deleteResponses(store: Store, accountId: string): Promise<void> {
  const found = slowQuery(store);
  for (let after = ''; ;) {
    const rows = await found<{ readonly id: string }>(
      `SELECT id FROM stored_response WHERE account_id = ? AND id > ? ORDER BY id LIMIT ${TOGETHER}`,
      [accountId, after],
    );
    const last = rows.at(-1)?.id ?? '';
    if (last === '' && after === '') return;
    const ids = rows.map(({ id }) => id);
    if (last !== '')
      await store.db
        .deleteFrom('stored_response')
        .where('account_id', '=', accountId)
        .where('id', 'in', ids)
        .execute();
    after = last;
  }
}

/** Kept answers are large: a bounded number in each transaction. */
async function deleteOwned({ db }: Store, table: OwnedTable, accountId: string): Promise<void> {
  const key = OWNED_KEYS[table];
  for (;;) {
    const rows = await db
      .selectFrom(table)
      .select(`${key} as key`)
      .where('account_id', '=', accountId)
      .limit(TOGETHER)
      .execute();
    if (rows.length === 0) return;
    const keys = rows.map((row) => row.key);
    await db.deleteFrom(table).where('account_id', '=', accountId).where(key, 'in', keys).execute();
  }
}

/** Those of the own balance; what requests of a team said stays with the team. No node keeps new ones. */
async function deleteTags({ store, clock }: RemovalParts, walletId: string): Promise<void> {
  const { db } = store;
  await chooseNoTags(db, walletId, clock.now());
  for (;;) {
    const rows = await db
      .selectFrom('request_tag')
      .select('request_id')
      .where('wallet_id', '=', walletId)
      .limit(TOGETHER)
      .execute();
    if (rows.length === 0) return;
    const ids = rows.map(({ request_id }) => request_id);
    await db
      .deleteFrom('request_tag')
      .where('wallet_id', '=', walletId)
      .where('request_id', 'in', ids)
      .execute();
  }
}

async function anonymise(tx: Transaction<Schema>, accountId: string, now: number): Promise<void> {
  const memberships = await membershipsOf(tx, accountId);
  const { email } = await tx
    .updateTable('account')
    .set({ token_created_at: null, token_exposed_at: null, low_balance: null, paused_reason: null })
    .where('id', '=', accountId)
    .returning('email')
    .executeTakeFirstOrThrow();
  await tx.deleteFrom('auth_verification').where('value', '=', accountId).execute();
  await tx.deleteFrom('auth_verification').where('identifier', '=', email).execute();
  for (const table of ['auth_session', 'auth_account', 'auth_two_factor', 'auth_passkey'] as const)
    await tx.deleteFrom(table).where('userId', '=', accountId).execute();
  await tx.deleteFrom('auth_user').where('id', '=', accountId).execute();
  await tx.deleteFrom('preference').where('account_id', '=', accountId).execute();
  await tx.deleteFrom('setting').where('key', '=', `catalog_draft:${accountId}`).execute();
  const ids = [accountId, ...memberships.map(({ id }) => id)];
  for (const table of ['reset_link', 'receipt_link', 'webhook', 'outbox', 'notice'] as const)
    await tx.deleteFrom(table).where('account_id', 'in', ids).execute();
  await tx
    .updateTable('account')
    .set({ name: null, person_id: null })
    .where('person_id', '=', accountId)
    .execute();
  // The row goes once the payment provider has deleted its customer, with the saved card.
  await tx
    .updateTable('top_up')
    .set({ removed_at: now, enabled: 0, method_id: null, off_reason: null })
    .where('account_id', '=', accountId)
    .execute();
  const { numUpdatedRows } = await tx
    .updateTable('account')
    .set({ email: removedEmail(accountId) })
    .where('id', '=', accountId)
    .where('balance', '=', 0)
    .where('open_holds', '=', 0)
    .executeTakeFirstOrThrow();
  // Somebody has credited it since.
  if (numUpdatedRows === 0n)
    throw new Fault('invalid_field', 'The balance of this account has changed meanwhile. Try again.', {
      param: 'account',
    });
}

function stillRunning(requests: number): Fault {
  return new Fault(
    'invalid_field',
    `This account has ${requests === 1 ? 'a request that is' : `${requests} requests that are`} still running. Disable it, and remove it when they are over.`,
    { param: 'account' },
  );
}
