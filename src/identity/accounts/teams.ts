import type { Insertable, Kysely, Transaction, Updateable } from 'kysely';
import { freeOf, removedEmail } from '../../ledger/decide.ts';
import type { Ledger } from '../../ledger/port.ts';
import type { Clock } from '../../std/clock.ts';
import { Fault } from '../../std/fault.ts';
import { newAccountId, newTeamId, type AccountId, type Random } from '../../std/ids.ts';
import { formatUsd, nanoUsd, type NanoUsd } from '../../std/money.ts';
import { lockRow } from '../../store/row-lock.ts';
import type { AccountTable, Schema, TeamRole } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { requireWallets } from '../../store/other-nodes.ts';
import { tokenColumns, type NewBudget, type SpendingLimits } from './account-limits.ts';
import { moneyOf, type Account } from './accounts.ts';
import {
  findTeamInvite,
  makeTeamInvite,
  useTeamInvite,
  type NewTeamInvite,
  type TeamInvite,
} from './team-invites.ts';
import { newToken } from './token.ts';

interface TeamsOptions {
  readonly store: Store;
  readonly ledger: Pick<Ledger, 'post' | 'move' | 'setBudget'>;
  /** Enters the hash of tokens. */
  readonly pepper: Uint8Array;
  readonly clock: Clock;
  readonly random?: Random | undefined;
  /** The operator's choice. */
  readonly mostAccounts?: number | undefined;
}

/** Accounts of a team, apps and members together, where the operator says nothing else. */
export const MOST_ACCOUNTS = 100;
const LONGEST_NAME = 64;
export const TEAM_ROLES: readonly TeamRole[] = ['owner', 'admin', 'viewer', 'member'];

/**
 * Teams: a balance that several accounts spend. A member is the account of a person in the team, apart from the person's
 * own; an app is one without a person. Joining, leaving and removal end tokens in the same transaction, so that no token in
 * use ever takes money from another pocket than its owner thought.
 */
export class Teams {
  readonly #o: TeamsOptions;

  constructor(options: TeamsOptions) {
    this.#o = options;
  }

  async create(
    name: string,
    owner: Pick<Account, 'id' | 'email'>,
    {
      balance,
      moved,
      actor,
      id = newTeamId(this.#o.clock.now(), this.#o.random),
    }: {
      readonly balance?: NanoUsd | undefined;
      /** From the owner's own balance. */
      readonly moved?: NanoUsd | undefined;
      readonly actor: string;
      readonly id?: AccountId | undefined;
    },
  ): Promise<Account> {
    await requireWallets(this.#o.store);
    if (moved !== undefined) await this.#requireMovable(owner.id, moved);
    const now = this.#o.clock.now();
    await this.#changing(async (tx) => {
      await tx
        .insertInto('account')
        .values({ id, kind: 'team', name: checkedName(name), email: `${id}@team.invalid`, created_at: now })
        .execute();
      await this.#join(tx, id, { person: owner, role: 'owner' });
    }, `There is a team '${name}' already.`);
    if (balance !== undefined && balance > 0)
      await this.#o.ledger.post({
        accountId: id,
        kind: 'credit',
        amount: balance,
        cause: 'opening balance',
        actor,
      });
    if (moved !== undefined && moved > 0)
      await this.#o.ledger.move({
        id: `open:${id}`,
        fromId: owner.id as AccountId,
        toId: id,
        amount: moved,
        outCause: `to the team ${name}, as it was made`,
        inCause: 'from the balance of the person who made the team',
        actor,
      });
    return await this.#get(id);
  }

  /** The free part of the money that was paid into a wallet; gifts and codes cannot be moved. */
  async movable(walletId: string): Promise<NanoUsd> {
    const free = freeOf(moneyOf(await this.#get(walletId)));
    return nanoUsd(Math.min(free, await movableOf(this.#o.store, walletId)));
  }

  async list(): Promise<Account[]> {
    return await this.#o.store.db
      .selectFrom('account')
      .selectAll()
      .where('kind', '=', 'team')
      .where('ended_at', 'is', null)
      .orderBy('name')
      .execute();
  }

  async require(name: string): Promise<Account> {
    const team = await this.#o.store.db
      .selectFrom('account')
      .selectAll()
      .where('kind', '=', 'team')
      .where('name', '=', name)
      .where('ended_at', 'is', null)
      .executeTakeFirst();
    if (!team) throw new Fault('not_found', `There is no team '${name}'.`, { param: 'team' });
    return team;
  }

  /** Members and apps, the oldest first. */
  async accounts(teamId: string): Promise<Account[]> {
    return await accountsOf(this.#o.store.db, teamId);
  }

  /** The row of a member or app that is known. */
  account(id: string): Promise<Account> {
    return this.#get(id);
  }

  /** The account with which a person spends a team's balance, if they are in one. */
  async membership(personId: string): Promise<Account | undefined> {
    return await this.#o.store.db
      .selectFrom('account')
      .selectAll()
      .where('person_id', '=', personId)
      .where('ended_at', 'is', null)
      .executeTakeFirst();
  }

  async add(
    teamId: string,
    person: Pick<Account, 'id' | 'email'>,
    {
      role = 'member',
      budget,
    }: { readonly role?: TeamRole | undefined; readonly budget?: NewBudget | null | undefined },
  ): Promise<Account> {
    const id = await this.#changing((tx) => this.#join(tx, teamId, { person, role, budget }));
    return await this.#get(id);
  }

  /** The secret of the invitation is returned only here. */
  async invite(
    by: Account,
    invite: NewTeamInvite,
  ): Promise<{ readonly secret: string; readonly expiresAt: number }> {
    const { store, clock } = this.#o;
    const made = await makeTeamInvite(store.db, by, { ...invite, now: clock.now() });
    await store.durable();
    return made;
  }

  /** The team that an invitation is for; throws unless it can still be used. */
  async invited(secret: string): Promise<{ readonly team: Account; readonly invite: TeamInvite }> {
    const invite = await findTeamInvite(this.#o.store.db, secret, this.#o.clock.now());
    return { team: await this.#get(invite.teamId), invite };
  }

  async accept(secret: string, person: Pick<Account, 'id' | 'email'>): Promise<Account> {
    const id = await this.#changing(async (tx) => {
      const { teamId, role, budget } = await useTeamInvite(tx, secret, this.#o.clock.now());
      return await this.#join(tx, teamId, { person, role, budget });
    });
    return await this.#get(id);
  }

  async setRole(member: Account, role: TeamRole): Promise<void> {
    await this.#changing(async (tx) => {
      await lockTeam(tx, member.wallet_id ?? '', this.#o.clock.now());
      if ((await roleNow(tx, member)) === 'owner' && role !== 'owner') await requireAnotherOwner(tx, member);
      await tx
        .updateTable('account')
        // Who only looks on has no token.
        .set({ team_role: role, ...(role === 'viewer' ? NO_TOKEN : {}) })
        .where('id', '=', member.id)
        .execute();
    });
  }

  async end(account: Account): Promise<void> {
    await this.#changing((tx) => endInTeam(tx, account, this.#o.clock.now()));
  }

  async makeApp(
    teamId: string,
    name: string,
    limits: SpendingLimits,
    id = newAccountId(this.#o.clock.now(), this.#o.random),
  ): Promise<{ readonly app: Account; readonly token: string }> {
    const columns = tokenColumns(limits);
    const now = this.#o.clock.now();
    const { token, ...stored } = this.#newToken();
    await this.#changing(async (tx) => {
      await lockTeam(tx, teamId, this.#o.clock.now());
      await requireRoom(tx, teamId, this.#o.mostAccounts);
      await tx
        .insertInto('account')
        .values({
          ...columns,
          ...firstBudget(limits.budget),
          ...stored,
          id,
          kind: 'app',
          name: checkedName(name),
          email: `${id}@app.invalid`,
          wallet_id: teamId,
          team_role: 'member',
          created_at: now,
        })
        .execute();
    }, `The team has an app '${name}' already.`);
    return { app: await this.#get(id), token };
  }

  async requireApp(teamId: string, name: string): Promise<Account> {
    const app = (await this.accounts(teamId)).find((one) => one.kind === 'app' && one.name === name);
    if (!app) throw new Fault('not_found', `The team has no app '${name}'.`, { param: 'app' });
    return app;
  }

  async setPaused(id: AccountId | string, isPaused: boolean): Promise<void> {
    await this.#changing((tx) =>
      tx
        .updateTable('account')
        .set({ status: isPaused ? 'disabled' : 'active' })
        .where('id', '=', id)
        .execute(),
    );
  }

  /** Also of a person's own account. */
  async setLimits(id: string, limits: SpendingLimits): Promise<void> {
    const columns = tokenColumns(limits);
    if (limits.budget !== undefined || Object.keys(columns).length > 0) await requireWallets(this.#o.store);
    // The primary key of an account is an account id.
    const accountId = id as AccountId;
    if (limits.budget !== undefined)
      await this.#o.ledger.setBudget({ accountId, budget: limits.budget ?? undefined });
    if (Object.keys(columns).length > 0)
      await this.#changing((tx) => tx.updateTable('account').set(columns).where('id', '=', id).execute());
  }

  /**
   * Ends a team: its accounts with their tokens, and then the team. What is left of what was paid goes to an owner's own
   * balance, unless an operator says why it is written off; gifts never move, and are written off. Tells what became of the
   * balance, also of a team that is closed already: a server may have been killed before it could tell.
   */
  async close(
    team: Account,
    actor: string,
    { writeOff }: { readonly writeOff?: string | undefined } = {},
  ): Promise<{ readonly returned: NanoUsd; readonly writtenOff: NanoUsd }> {
    const { store, clock } = this.#o;
    if (team.ended_at !== null) return await closingOf(store, team.id);
    const accounts = await this.accounts(team.id);
    const owner = accounts.find(({ team_role }) => team_role === 'owner');
    await this.#changing(async (tx) => {
      await lockTeam(tx, team.id, clock.now());
      // One after the other, in the order in which admissions lock them.
      for (const { id } of accounts)
        await tx.updateTable('account').set(NO_TOKEN).where('id', '=', id).execute();
    });
    const now = await this.#get(team.id);
    requireNothingPending(now);
    const movable = writeOff === undefined ? await movableOf(store, team.id) : 0;
    const returned = nanoUsd(Math.min(now.balance, movable));
    if (returned > 0 && owner?.person_id)
      await this.#o.ledger.move({
        id: `close:${team.id}:${clock.now()}`,
        fromId: team.id as AccountId,
        toId: owner.person_id as AccountId,
        amount: returned,
        outCause: 'to the balance of an owner, as the team was closed',
        inCause: `from the team ${team.name ?? ''}, which was closed`,
        actor,
      });
    const left = nanoUsd((await this.#get(team.id)).balance);
    if (left > 0)
      await this.#o.ledger.post({
        accountId: team.id as AccountId,
        kind: 'adjustment',
        amount: 0 - left,
        cause: `written off: ${writeOff ?? 'gifts, as the team was closed'}`,
        actor,
        once: `written-off:${team.id}:${clock.now()}`,
      });
    await this.#changing((tx) => endTeam(tx, team.id, clock.now()));
    return await closingOf(store, team.id);
  }

  async #requireMovable(walletId: string, amount: NanoUsd): Promise<void> {
    const movable = await this.movable(walletId);
    if (amount > movable)
      throw new Fault(
        'invalid_field',
        `At most $${formatUsd(movable)} can be moved: what was paid and is not on hold. Gifts and codes stay.`,
        { param: 'moveUsd' },
      );
  }

  async #join(
    tx: Transaction<Schema>,
    teamId: string,
    { person, role, budget }: Joining,
  ): Promise<AccountId> {
    await lockTeam(tx, teamId, this.#o.clock.now());
    await requireRoom(tx, teamId, this.#o.mostAccounts);
    await requireFree(tx, person);
    const now = this.#o.clock.now();
    const id = newAccountId(now, this.#o.random);
    await tx.updateTable('account').set(NO_TOKEN).where('id', '=', person.id).execute();
    await tx
      .insertInto('account')
      .values({
        ...firstBudget(budget),
        id,
        kind: 'member',
        name: person.email,
        email: `${id}@member.invalid`,
        person_id: person.id,
        wallet_id: teamId,
        team_role: role,
        created_at: now,
      })
      .execute();
    return id;
  }

  #newToken() {
    const { token, hash, hint } = newToken(this.#o.pepper, this.#o.random?.bytes);
    return { token, token_hash: hash, token_hint: hint, token_created_at: this.#o.clock.now() };
  }

  async #get(id: string): Promise<Account> {
    return await this.#o.store.db
      .selectFrom('account')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
  }

  /** One transaction, on disk when it resolves; what exists already, or came first, is the client's mistake. */
  async #changing<T>(work: (tx: Transaction<Schema>) => Promise<T>, taken?: string): Promise<T> {
    const { store } = this.#o;
    try {
      const result = await store.db.transaction().execute(work);
      await store.durable();
      return result;
    } catch (error) {
      const what = takenBy(error);
      if (what === 'person')
        throw new Fault('conflict', 'This person is in a team already.', { cause: error });
      if (taken !== undefined && what === 'name') throw new Fault('conflict', taken, { cause: error });
      throw error;
    }
  }
}

interface Joining {
  readonly person: Pick<Account, 'id' | 'email'>;
  readonly role: TeamRole;
  readonly budget?: NewBudget | null | undefined;
}

/** Of an account that is being made and has used nothing yet; its first admission begins the period. */
function firstBudget(
  budget: NewBudget | null | undefined,
): Insertable<Pick<AccountTable, 'budget' | 'budget_per'>> {
  return budget ? { budget: budget.amount, budget_per: budget.per } : {};
}

/** A person, who is in no team: apps, teams and who was removed join none. */
async function requireFree(
  tx: Transaction<Schema>,
  { id, email }: Pick<Account, 'id' | 'email'>,
): Promise<void> {
  const person = await tx
    .selectFrom('account')
    .select('id')
    .where('id', '=', id)
    .where('kind', '=', 'person')
    .where('role', '!=', 'system')
    .where('email', '!=', removedEmail(id))
    .executeTakeFirst();
  if (!person) throw new Fault('not_found', `There is no person ${email}.`, { param: 'account' });
  const member = await tx
    .selectFrom('account')
    .select('id')
    .where('person_id', '=', id)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  if (member) throw new Fault('conflict', `${email} is in a team already.`);
}

const NO_TOKEN = {
  token_hash: null,
  token_hint: null,
  token_created_at: null,
  token_used_at: null,
  token_exposed_at: null,
} satisfies Updateable<AccountTable>;

/** A member leaves, or an app ends. Requests that are under way end where they began. The last owner stays. */
export async function endInTeam(
  tx: Transaction<Schema>,
  account: Pick<Account, 'id' | 'wallet_id'>,
  now: number,
): Promise<void> {
  await lockTeam(tx, account.wallet_id ?? '', now);
  if ((await roleNow(tx, account)) === 'owner') await requireAnotherOwner(tx, account);
  await tx
    .updateTable('account')
    .set({ ...NO_TOKEN, ended_at: now })
    .where('id', '=', account.id)
    .where('ended_at', 'is', null)
    .execute();
}

/** Only where nothing was credited or begun since it was emptied: what a closed team has is nobody's. */
async function endTeam(tx: Transaction<Schema>, teamId: string, now: number): Promise<void> {
  for (const { id } of await accountsOf(tx, teamId))
    await tx
      .updateTable('account')
      .set({ ...NO_TOKEN, ended_at: now })
      .where('id', '=', id)
      .execute();
  const { numUpdatedRows } = await tx
    .updateTable('account')
    .set({ ended_at: now })
    .where('id', '=', teamId)
    .where('balance', '=', 0)
    .where('open_holds', '=', 0)
    .where('owed', '=', 0)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n)
    throw new Fault('conflict', "The team's balance has changed meanwhile. Close it again.");
  await tx.deleteFrom('setting').where('key', '=', lockKey(teamId)).execute();
}

function requireNothingPending({ open_holds, owed }: Account): void {
  if (open_holds > 0)
    throw new Fault(
      'conflict',
      `${open_holds} requests of the team are still running. Its tokens are ended; close it again when they are over.`,
    );
  if (owed > 0)
    throw new Fault(
      'conflict',
      `The team owes $${formatUsd(nanoUsd(owed))} of refunds. Its tokens are ended; close it again when they are settled.`,
    );
}

/** In the order in which they came: not every database sorts ids by their bytes. */
async function accountsOf(db: Kysely<Schema>, teamId: string): Promise<Account[]> {
  return await db
    .selectFrom('account')
    .selectAll()
    .where('wallet_id', '=', teamId)
    .where('ended_at', 'is', null)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/**
 * What a unique index found: the person joined a team a moment ago, which nobody else could see yet, or there is a team or app
 * of this name.
 */
function takenBy(error: unknown): 'person' | 'name' | undefined {
  if (!(error instanceof Error) || !/UNIQUE constraint failed|duplicate key value/.test(error.message))
    return undefined;
  return /account_member|person_id/.test(error.message) ? 'person' : 'name';
}

/**
 * Who changes a team's accounts waits for whoever does so already. The lock is a row of its own: admissions lock the team
 * after its accounts, and must not wait for a transaction that does it the other way round.
 */
async function lockTeam(tx: Transaction<Schema>, teamId: string, now: number): Promise<void> {
  await lockRow(tx, lockKey(teamId), now);
  const team = await tx
    .selectFrom('account')
    .select('id')
    .where('id', '=', teamId)
    .where('kind', '=', 'team')
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  if (!team) throw new Fault('not_found', 'There is no such team.', { param: 'team' });
}

function lockKey(teamId: string): string {
  return `team_lock:${teamId}`;
}

async function requireRoom(tx: Transaction<Schema>, teamId: string, most = MOST_ACCOUNTS): Promise<void> {
  const { number } = await tx
    .selectFrom('account')
    .select((row) => row.fn.countAll<number>().as('number'))
    .where('wallet_id', '=', teamId)
    .where('ended_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (number >= most) throw new Fault('conflict', `A team has at most ${most} accounts.`);
}

/** The role as read under the lock: it may have changed since it was read before. */
async function roleNow(
  tx: Transaction<Schema>,
  { id }: Pick<Account, 'id'>,
): Promise<TeamRole | null | undefined> {
  const row = await tx.selectFrom('account').select('team_role').where('id', '=', id).executeTakeFirst();
  return row?.team_role;
}

async function requireAnotherOwner(
  tx: Transaction<Schema>,
  { id, wallet_id }: Pick<Account, 'id' | 'wallet_id'>,
): Promise<void> {
  const other = await tx
    .selectFrom('account')
    .select('id')
    .where('wallet_id', '=', wallet_id)
    .where('team_role', '=', 'owner')
    .where('ended_at', 'is', null)
    .where('id', '!=', id)
    .executeTakeFirst();
  if (!other)
    throw new Fault('conflict', 'A team needs an owner. Make another member one first, or close the team.');
}

function checkedName(name: string): string {
  if (!/^[\p{L}\p{N}][\p{L}\p{N} ._-]*$/u.test(name) || name.length > LONGEST_NAME)
    throw new Fault(
      'invalid_field',
      `A name has letters, digits, spaces, dots, dashes and underscores, at most ${LONGEST_NAME} of them.`,
      { param: 'name' },
    );
  return name;
}

/** What a team that was closed has returned, and what of it was written off, by its entries. */
async function closingOf(
  { db }: Store,
  teamId: string,
): Promise<{ readonly returned: NanoUsd; readonly writtenOff: NanoUsd }> {
  const entries = await db
    .selectFrom('entry')
    .select(['amount', 'once'])
    .where('account_id', '=', teamId)
    .where('once', 'is not', null)
    .execute();
  const takenBy = (prefix: string): NanoUsd =>
    nanoUsd(
      entries.filter(({ once }) => once?.startsWith(prefix)).reduce((sum, { amount }) => sum - amount, 0),
    );
  return { returned: takenBy(`move:close:${teamId}:`), writtenOff: takenBy(`written-off:${teamId}:`) };
}

/** What came in but for gifts, less what went out to other wallets: charges use gifts up first. */
async function movableOf({ db }: Store, walletId: string): Promise<number> {
  const entries = await db
    .selectFrom('entry')
    .select(['amount', 'once', 'actor'])
    .where('account_id', '=', walletId)
    .where('kind', 'in', ['credit', 'refund', 'adjustment'])
    .execute();
  const isGift = ({ once, actor }: (typeof entries)[number]): boolean =>
    once?.startsWith('code:') === true || actor === 'welcome';
  const sum = entries.filter((entry) => !isGift(entry)).reduce((total, { amount }) => total + amount, 0);
  return Math.max(0, sum);
}
