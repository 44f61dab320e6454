import { createHash } from 'node:crypto';
import type { Kysely, Selectable } from 'kysely';
import { Fault } from '../../std/fault.ts';
import { randomPart } from '../../std/ids.ts';
import { nanoUsd } from '../../std/money.ts';
import type { Schema, TeamInviteTable, TeamRole } from '../../store/schema.ts';
import type { NewBudget } from './account-limits.ts';
import type { Account } from './accounts.ts';
import { teamRoleMay } from './roles.ts';

export interface NewTeamInvite {
  readonly role: TeamRole;
  readonly budget: NewBudget | undefined;
}

/** What an invitation offers. */
export interface TeamInvite extends NewTeamInvite {
  readonly id: string;
  readonly teamId: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

const LIFE_MS = 7 * 86_400_000;
/** Open ones of a team. */
const MOST_OPEN = 100;

/** The secret is returned only here: the store has its hash. */
export async function makeTeamInvite(
  db: Kysely<Schema>,
  by: Account,
  { role, budget, now }: NewTeamInvite & { readonly now: number },
): Promise<{ readonly secret: string; readonly expiresAt: number }> {
  const teamId = by.wallet_id ?? '';
  if ((await openTeamInvites(db, teamId, now)).length >= MOST_OPEN)
    throw new Fault('conflict', `A team has at most ${MOST_OPEN} open invitations. End some first.`);
  const secret = randomPart(43);
  const expiresAt = now + LIFE_MS;
  await db
    .insertInto('team_invite')
    .values({
      secret_hash: hashOf(secret),
      team_id: teamId,
      role,
      budget: budget?.amount ?? null,
      budget_per: budget?.per ?? null,
      created_by: by.id,
      created_at: now,
      expires_at: expiresAt,
    })
    .execute();
  return { secret, expiresAt };
}

export async function openTeamInvites(
  db: Kysely<Schema>,
  teamId: string,
  now: number,
): Promise<TeamInvite[]> {
  const rows = await openInvites(db, now).where('team_id', '=', teamId).orderBy('created_at').execute();
  return rows.map(inviteOf);
}

export async function endTeamInvite(db: Kysely<Schema>, teamId: string, id: string): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom('team_invite')
    .where('secret_hash', '=', id)
    .where('team_id', '=', teamId)
    .where('used_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (numDeletedRows === 0n) throw new Fault('not_found', 'There is no such open invitation.');
}

/** An invitation is worth no more than the rights of whoever made it, at the moment it is used. */
export async function findTeamInvite(db: Kysely<Schema>, secret: string, now: number): Promise<TeamInvite> {
  const row = await openInvites(db, now).where('secret_hash', '=', hashOf(secret)).executeTakeFirst();
  if (!row) throw ended();
  const inviter = await db
    .selectFrom('account')
    .select('team_role')
    .where('id', '=', row.created_by)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  const needed = row.role === 'owner' ? 'change_owners' : 'change_members';
  if (!inviter?.team_role || !teamRoleMay(inviter.team_role, needed)) throw ended();
  return inviteOf(row);
}

/** In the transaction that makes the member: of two who use it at once, one joins. */
export async function useTeamInvite(db: Kysely<Schema>, secret: string, now: number): Promise<TeamInvite> {
  const invite = await findTeamInvite(db, secret, now);
  const { numUpdatedRows } = await db
    .updateTable('team_invite')
    .set({ used_at: now })
    .where('secret_hash', '=', invite.id)
    .where('used_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw ended();
  return invite;
}

function openInvites(db: Kysely<Schema>, now: number) {
  return db.selectFrom('team_invite').selectAll().where('used_at', 'is', null).where('expires_at', '>', now);
}

function inviteOf(row: Selectable<TeamInviteTable>): TeamInvite {
  return {
    id: row.secret_hash,
    teamId: row.team_id,
    role: row.role,
    budget: row.budget === null ? undefined : { amount: nanoUsd(row.budget), per: row.budget_per ?? 'total' },
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}

/** Random bits need no slow hash, and a look-up by hash needs no constant-time comparison. */
function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

function ended(): Fault {
  return new Fault('link_ended', 'This invitation was used already, has ended, or is too old.');
}
