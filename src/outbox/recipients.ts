import type { Kysely } from 'kysely';
import type { Schema } from '../store/schema.ts';
import type { MailSubject } from './mail-data.ts';

/** A person who reads a mail. */
export interface MailReader {
  /** The person's own account. */
  readonly id: string;
  readonly email: string;
  /** What they have chosen in the console. */
  readonly language: string | undefined;
  readonly about: MailSubject;
}

const LONGEST_NAME = 64;

/**
 * Who reads mails about an account, each person once. A person reads their own. What a member's account or an app does is
 * also read by the team's owners and admins; what happens to the team's money by its owners. An app has no address.
 */
export async function mailReaders(tx: Kysely<Schema>, accountId: string): Promise<MailReader[]> {
  const account = await tx
    .selectFrom('account')
    .leftJoin('account as team', 'team.id', 'account.wallet_id')
    .select(['account.kind', 'account.name', 'account.wallet_id', 'account.person_id', 'team.name as team'])
    .where('account.id', '=', accountId)
    .executeTakeFirst();
  if (!account) return [];
  if (account.kind === 'person') return await personReaders(tx, [accountId], {});
  if (account.kind === 'team')
    return await personReaders(tx, await personsOf(tx, accountId, ['owner']), { team: nameOf(account.name) });
  const team = nameOf(account.team);
  const own = account.person_id === null ? [] : [account.person_id];
  const keepers = await personsOf(tx, account.wallet_id ?? '', ['owner', 'admin']);
  return [
    ...(await personReaders(tx, own, { team })),
    ...(await personReaders(
      tx,
      keepers.filter((id) => id !== account.person_id),
      { team, account: nameOf(account.name) },
    )),
  ];
}

/** The webhooks that are called about an account: its own, those of its person, and its team's. */
export function webhooksAbout(tx: Kysely<Schema>, accountId: string) {
  return tx
    .selectFrom('webhook')
    .selectAll()
    .where((where) =>
      where.or([
        where('account_id', '=', accountId),
        where('account_id', 'in', tx.selectFrom('account').select('person_id').where('id', '=', accountId)),
        where('account_id', 'in', tx.selectFrom('account').select('wallet_id').where('id', '=', accountId)),
      ]),
    );
}

async function personsOf(
  tx: Kysely<Schema>,
  teamId: string,
  roles: readonly ('owner' | 'admin')[],
): Promise<string[]> {
  const members = await tx
    .selectFrom('account')
    .select('person_id')
    .where('wallet_id', '=', teamId)
    .where('team_role', 'in', roles)
    .where('ended_at', 'is', null)
    .where('person_id', 'is not', null)
    .orderBy('id')
    .execute();
  return members.flatMap(({ person_id }) => person_id ?? []);
}

async function personReaders(
  tx: Kysely<Schema>,
  ids: readonly string[],
  about: MailSubject,
): Promise<MailReader[]> {
  if (ids.length === 0) return [];
  const persons = await tx
    .selectFrom('account')
    .leftJoin('preference', 'preference.account_id', 'account.id')
    .select(['account.id', 'account.email', 'preference.language'])
    .where('account.id', 'in', ids)
    .where('account.kind', '=', 'person')
    .where('account.status', '=', 'active')
    .orderBy('account.id')
    .execute();
  return persons.map(({ id, email, language }) => ({ id, email, language: language ?? undefined, about }));
}

/** A member is named by an address, which may be longer than a subject should be. */
function nameOf(name: string | null): string {
  const text = name ?? '';
  return text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME - 1)}…` : text;
}
