import { spendersOf, spentByDay } from '../activity/accounts.ts';
import { type Account, moneyOf } from '../identity/accounts/accounts.ts';
import { openTeamInvites } from '../identity/accounts/team-invites.ts';
import { TEAM_RIGHTS, teamRoleMay, type TeamRight } from '../identity/accounts/roles.ts';
import type { Visitor } from '../identity/sign-in/session.ts';
import { freeOf } from '../ledger/decide.ts';
import { Budget } from '../ledger/budget.ts';
import { DAY_MS, dayOf, periodEnd } from '../std/calendar.ts';
import { Fault } from '../std/fault.ts';
import { nanoUsd } from '../std/money.ts';
import type { TeamRole } from '../store/schema.ts';
import { usd, readUsd } from './amounts.ts';
import { budgetLimits, nextLimit, walletLimits } from './next-limit.ts';
import type { RouteParts } from './parts.ts';
import { z } from 'zod';
import type { NewBudget, SpendingLimits } from '../identity/accounts/account-limits.ts';
import type { AccountId } from '../std/ids.ts';

/** The account with which somebody is in a team. */
export interface TeamMember {
  readonly account: Account;
  readonly teamId: string;
  readonly role: TeamRole;
}

export async function membershipOf({ teams }: RouteParts, user: Visitor): Promise<TeamMember | undefined> {
  const account = await teams.membership(user.accountId);
  if (!account?.wallet_id || !account.team_role) return undefined;
  return { account, teamId: account.wallet_id, role: account.team_role };
}

/** Every route of a team begins here: whoever is in none finds nothing, and whose role does not allow it is refused. */
export async function requireTeamRight(
  parts: RouteParts,
  user: Visitor,
  right: TeamRight,
): Promise<TeamMember> {
  const member = await membershipOf(parts, user);
  if (!member) throw new Fault('not_found', 'You are not in a team.');
  requireRight(member, right);
  return member;
}

export function requireRight({ role }: TeamMember, right: TeamRight): void {
  if (teamRoleMay(role, right)) return;
  const roles = TEAM_RIGHTS[right].join(' or ');
  throw new Fault('forbidden', `Only the team's ${roles} may do this.`);
}

/** An account of the same team that has not ended; those of other teams are not found. */
export async function requireTeamAccount(
  { teams }: RouteParts,
  { teamId }: TeamMember,
  { id, kind }: { readonly id: string; readonly kind: 'app' | 'member' },
): Promise<Account> {
  const account = (await teams.accounts(teamId)).find((one) => one.id === id && one.kind === kind);
  if (!account) throw new Fault('not_found', `The team has no such ${kind}.`);
  return account;
}

export async function teamView(parts: RouteParts, member: TeamMember) {
  const { store, teams, clock } = parts;
  const now = clock.now();
  const seesAll = teamRoleMay(member.role, 'see_all');
  const team = await rowOfAccount(parts, member.teamId);
  const [closing, accounts, invites, next] = await Promise.all([
    teamRoleMay(member.role, 'close') ? closingOf(parts, team) : null,
    seesAll ? teams.accounts(member.teamId) : [member.account],
    teamRoleMay(member.role, 'change_members') ? openTeamInvites(store.db, member.teamId, now) : [],
    nextTeamLimit(parts, member, team),
  ]);
  return {
    name: team.name ?? '',
    role: member.role,
    /** By the operator, or because a payment was disputed that is spent: none of its accounts is admitted. */
    isPaused: team.status !== 'active',
    /** What this role may do. */
    rights: rightsOf(member.role),
    /** The own row among the accounts. */
    ownId: member.account.id,
    /** Null for whoever sees only the own account. */
    money: seesAll
      ? {
          balanceUsd: usd(team.balance),
          heldUsd: usd(team.held),
          availableUsd: usd(freeOf(moneyOf(team))),
        }
      : null,
    /** What stops the own requests first, of what the role may see; null: nothing that it may see. */
    nextLimit: next,
    /** What closing the team would do; null for whoever may not close it. */
    closing,
    accounts: accounts.map((account) => teamAccountView(account, now)),
    invites: invites.map(({ id, role, budget, expiresAt }) => ({
      id,
      role,
      budget: budget ? { amountUsd: usd(budget.amount), per: budget.per } : null,
      expiresAt,
    })),
  };
}

const LIMIT_DAYS = 30;

async function nextTeamLimit({ store, clock }: RouteParts, member: TeamMember, team: Account) {
  const now = clock.now();
  const from = dayOf(now - (LIMIT_DAYS - 1) * DAY_MS);
  const own = budgetLimits(member.account, now);
  const all = teamRoleMay(member.role, 'see_all') ? walletLimits(team, now) : [];
  const [spentAlone, spentTogether] = await Promise.all([
    own.length > 0 ? spentByDay(store.db, [member.account.id], from) : [],
    all.length > 0 ? spentByDay(store.db, await spendersOf(store.db, team.id), from) : [],
  ]);
  return nextLimit(
    [
      ...own.map((limit) => ({ ...limit, spent: spentAlone })),
      ...all.map((limit) => ({ ...limit, spent: spentTogether })),
    ],
    now,
  );
}

/** The row of an account that was read already. */
export function rowOfAccount({ store }: RouteParts, id: string): Promise<Account> {
  return store.db.selectFrom('account').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

export async function closingOf({ teams }: RouteParts, team: Account) {
  const [returned, accounts] = await Promise.all([teams.movable(team.id), teams.accounts(team.id)]);
  return {
    /** Goes to the first owner's own balance. */
    returnedUsd: usd(returned),
    returnedTo: accounts.find(({ team_role }) => team_role === 'owner')?.name ?? '',
    /** Gifts and codes, which never move. */
    lostUsd: usd(nanoUsd(team.balance - returned)),
    /** Why it cannot be closed now. */
    blockedBy: team.open_holds > 0 ? ('holds' as const) : team.owed > 0 ? ('debt' as const) : null,
  };
}

export function rightsOf(role: TeamRole): TeamRight[] {
  return RIGHTS.filter((right) => teamRoleMay(role, right));
}

// The keys of the table, which has no others.
const RIGHTS = Object.keys(TEAM_RIGHTS) as TeamRight[];

export function teamAccountView(account: Account, now: number) {
  return {
    id: account.id,
    kind: account.kind === 'app' ? ('app' as const) : ('member' as const),
    name: account.name ?? '',
    role: account.team_role ?? 'member',
    state: stateOf(account, now),
    budget: budgetView(account, now),
    usedAt: account.token_used_at,
    /** `sk-…a1b2`; null: it has no token. */
    tokenHint: account.token_hint,
    limits: {
      models: linesOf(account.token_models),
      networks: linesOf(account.token_networks),
      expiresAt: account.token_expires_at,
      chatPerMinute: account.chat_per_minute,
      imagesPerMinute: account.images_per_minute,
      concurrent: account.concurrent,
    },
  };
}

function stateOf(account: Account, now: number): 'active' | 'paused' | 'expired' {
  if (account.status !== 'active') return 'paused';
  return account.token_expires_at !== null && account.token_expires_at <= now ? 'expired' : 'active';
}

function budgetView(account: Account, now: number) {
  if (account.budget === null) return null;
  const budget = new Budget(account.budget, account);
  budget.enter(now);
  return {
    amountUsd: usd(budget.amount),
    per: budget.per,
    usedUsd: usd(budget.used),
    heldUsd: usd(budget.held),
    /** When the next period begins; null: never. */
    resetsAt: periodEnd(budget.per, now) ?? null,
  };
}

/** Null: there is no such limit. */
function linesOf(text: string | null): string[] | null {
  return text === null ? null : text.split('\n');
}

export const budgetSchema = z.strictObject({
  amountUsd: z.string().max(30),
  per: z.enum(['day', 'week', 'month', 'total']),
});

const MAX_RATE = 1_000_000;
const rate = z.number().int().min(0).max(MAX_RATE).nullish();

/** What an account may spend and its token may be used for: an absent field changes nothing, null removes a limit. */
export const limitsSchema = z.strictObject({
  budget: budgetSchema.nullish(),
  models: z.array(z.string().max(200)).max(100).nullish(),
  networks: z.array(z.string().max(100)).max(100).nullish(),
  /** From this moment on its token is refused. */
  expiresAt: z.number().int().min(0).max(8_640_000_000_000_000).nullish(),
  chatPerMinute: rate,
  imagesPerMinute: rate,
  concurrent: rate,
});

/** Without the rates, which are the operator's to set, or a team's. */
export const ownLimitsSchema = limitsSchema.omit({
  chatPerMinute: true,
  imagesPerMinute: true,
  concurrent: true,
});

type LimitsBody = z.output<typeof limitsSchema>;

export function readBudget(budget: LimitsBody['budget']): NewBudget | null | undefined {
  return budget ? { amount: readUsd(budget.amountUsd, 'budget'), per: budget.per } : budget;
}

export function spendingOf(body: z.output<typeof ownLimitsSchema>): SpendingLimits {
  const { models, networks, expiresAt } = body;
  return { budget: readBudget(body.budget), models, networks, expiresAt };
}

export async function setRates({ accounts }: RouteParts, id: string, body: LimitsBody): Promise<void> {
  const { chatPerMinute, imagesPerMinute, concurrent } = body;
  // The primary key of an account is an account id.
  await accounts.setLimits(id as AccountId, { chatPerMinute, imagesPerMinute, concurrent });
}
