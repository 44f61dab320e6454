import { monthSpent } from '../activity/accounts.ts';
import { chosenTags, parseBudget, type SpendingLimits } from '../identity/accounts/account-limits.ts';
import type { Account } from '../identity/accounts/accounts.ts';
import { TEAM_ROLES, type Teams } from '../identity/accounts/teams.ts';
import type { AccountId } from '../std/ids.ts';
import { formatUsd, nanoUsd, toUsdNumber } from '../std/money.ts';
import type { TeamRole } from '../store/schema.ts';
import { bookEntry, countFlag, moneyFlag, readAmount } from './account.ts';
import {
  JSON_FLAG,
  printResult,
  textFlag,
  UsageError,
  type AuditedCommand,
  type CliCommand,
  type CliContext,
  type CommandInput,
  shownValue,
} from './command.ts';
import { teamGroupCommand } from './price-group.ts';
import { budgetOf, limitsOf, setTags, tokenLimitsView } from './spending-limits.ts';

const LIMIT_FLAGS = {
  budget: { type: 'string' },
  models: { type: 'string' },
  networks: { type: 'string' },
  expires: { type: 'string' },
} as const;

export const teamCommands: readonly CliCommand[] = [
  {
    name: 'team create',
    usage: 'NAME --owner EMAIL [--balance USD] [--json]',
    about: 'create a team: one balance for its members and apps',
    flags: { ...JSON_FLAG, owner: { type: 'string' }, balance: { type: 'string' } },
    minArguments: 1,
    audit: audited('team.create', ownerOf),
    run: create,
  },
  {
    name: 'team list',
    usage: '[--json]',
    about: 'list all teams',
    flags: JSON_FLAG,
    minArguments: 0,
    run: list,
  },
  {
    name: 'team show',
    usage: 'NAME [--json]',
    about: "show a team's balance, and its accounts with their budgets",
    flags: JSON_FLAG,
    minArguments: 1,
    run: show,
  },
  {
    name: 'team add',
    usage: 'NAME EMAIL [--role owner|admin|viewer|member] [--budget 20/month] [--json]',
    about: 'add a person to a team. Their token ends',
    flags: { ...JSON_FLAG, role: { type: 'string' }, budget: { type: 'string' } },
    minArguments: 2,
    audit: audited('team.add', memberOf),
    run: add,
  },
  {
    name: 'team role',
    usage: 'NAME EMAIL owner|admin|viewer|member [--json]',
    about: 'change what a member may do',
    flags: JSON_FLAG,
    minArguments: 3,
    audit: audited('team.role', memberOf),
    run: setRole,
  },
  {
    name: 'team remove',
    usage: 'NAME EMAIL [--json]',
    about: "end a person's membership; their token in the team ends",
    flags: JSON_FLAG,
    minArguments: 2,
    audit: audited('team.remove', memberOf),
    run: remove,
  },
  {
    name: 'team app',
    usage:
      'NAME APP [--budget 5/day] [--models PATTERN,…] [--expires DATE] [--networks CIDR,…] [--replace-token | --pause | --resume | --end] [--json]',
    about:
      'create an app and print its token, which is shown only once; for an existing app, change the given limits',
    flags: {
      ...JSON_FLAG,
      ...LIMIT_FLAGS,
      'replace-token': { type: 'boolean' },
      pause: { type: 'boolean' },
      resume: { type: 'boolean' },
      end: { type: 'boolean' },
    },
    minArguments: 2,
    audit: audited('team.app'),
    run: app,
  },
  {
    name: 'team limit',
    usage:
      'NAME [--chat N] [--images N] [--concurrent N] [--monthly USD] [--tags project,customer|none] [--json]   (`default` restores the default)',
    about: 'set the limits of a whole team, and the tags kept with its requests',
    flags: {
      ...JSON_FLAG,
      chat: { type: 'string' },
      images: { type: 'string' },
      concurrent: { type: 'string' },
      monthly: { type: 'string' },
      tags: { type: 'string' },
    },
    minArguments: 1,
    audit: audited('team.limits'),
    run: limit,
  },
  teamGroupCommand,
  {
    name: 'team credit',
    usage: 'NAME USD [--key KEY] [--reason TEXT] [--json]',
    about: "add to a team's balance. --key makes repeats count once",
    flags: { ...JSON_FLAG, key: { type: 'string' }, reason: { type: 'string' } },
    minArguments: 2,
    audit: audited('team.credit'),
    run: credit,
  },
  {
    name: 'team close',
    usage: 'NAME [--write-off REASON] [--json]',
    about:
      'close a team and end its tokens. Paid money returns to an owner; gifts are written off. --write-off writes off everything',
    flags: { ...JSON_FLAG, 'write-off': { type: 'string' } },
    minArguments: 1,
    audit: audited('team.close'),
    run: close,
  },
];

/** Addresses are not in the record: it names the account, whose address can be erased. */
function audited(action: string, emailOf?: (input: CommandInput) => string | undefined) {
  return (input: CommandInput): AuditedCommand => {
    const { owner: _owner, json: _json, as: _as, ...flags } = input.flags;
    const aboutEmail = emailOf?.(input);
    const [team, ...rest] = input.arguments;
    const about = rest.filter((word) => word !== aboutEmail).join(' ') || undefined;
    return { action, isAboutAccount: false, aboutEmail, detail: { team, about, ...flags } };
  };
}

function ownerOf(input: CommandInput): string | undefined {
  return textFlag(input, 'owner');
}

function memberOf(input: CommandInput): string | undefined {
  return input.arguments[1];
}

async function create(input: CommandInput, context: CliContext): Promise<number> {
  const [name = ''] = input.arguments;
  const email = textFlag(input, 'owner');
  if (email === undefined) throw new UsageError('Say with --owner whose team it is.');
  const balance = textFlag(input, 'balance');
  return await context.withServices(async ({ accounts, teams }) => {
    const owner = await accounts.require(email);
    const options = { balance: balance === undefined ? undefined : readAmount(balance), actor: 'cli' };
    const team = await teams.create(name, owner, options);
    const result = { team: team.name, account: team.id, owner: owner.email, ...moneyView(team) };
    printResult(input, context, result, [
      `Team ${name} has $${formatUsd(nanoUsd(team.balance))} and belongs to ${owner.email}.`,
      'The token of their own account has ended: `tollgate account token` makes one that pays from the team.',
    ]);
    return 0;
  });
}

async function list(input: CommandInput, context: CliContext): Promise<number> {
  return await context.withServices(async ({ teams }) => {
    for (const team of await teams.list())
      printResult(input, context, { team: team.name, account: team.id, ...moneyView(team) }, [
        `${team.name}  $${formatUsd(nanoUsd(team.balance))}`,
      ]);
    return 0;
  });
}

async function show(input: CommandInput, context: CliContext): Promise<number> {
  return await context.withServices(async ({ teams }) => {
    const team = await teams.require(input.arguments[0] ?? '');
    const now = context.clock.now();
    const accounts = (await teams.accounts(team.id)).map((account) => accountView(account, now));
    printResult(input, context, { team: team.name, ...moneyView(team), accounts }, [
      `${team.name}  $${formatUsd(nanoUsd(team.balance))}, on hold $${formatUsd(nanoUsd(team.held))}`,
      ...accounts.map(({ name, kind, role, used_usd, budget }) =>
        [
          `  ${name}`,
          kind === 'app' ? 'app' : role,
          budget ? `$${used_usd} of $${budget.amount_usd} a ${budget.per}` : 'no budget',
        ].join('  '),
      ),
    ]);
    return 0;
  });
}

async function add(input: CommandInput, context: CliContext): Promise<number> {
  const [name = '', email = ''] = input.arguments;
  const role = textFlag(input, 'role');
  const budget = textFlag(input, 'budget');
  return await context.withServices(async ({ accounts, teams }) => {
    const team = await teams.require(name);
    const person = await accounts.require(email);
    const member = await teams.add(team.id, person, {
      role: role === undefined ? undefined : roleOf(role),
      budget: budget === undefined ? undefined : parseBudget(budget),
    });
    printResult(input, context, { team: team.name, ...accountView(member, context.clock.now()) }, [
      `${person.email} is in ${name}. Their token has ended: \`tollgate account token\` makes one that pays from the team.`,
    ]);
    return 0;
  });
}

async function setRole(input: CommandInput, context: CliContext): Promise<number> {
  const [name = '', email = '', role = ''] = input.arguments;
  return await context.withServices(async ({ accounts, teams }) => {
    const member = await requireMember(teams, name, await accounts.require(email));
    await teams.setRole(member, roleOf(role));
    printResult(input, context, { team: name, account: member.id, name: email, role }, [
      `${email} is now ${role} of ${name}.`,
    ]);
    return 0;
  });
}

async function remove(input: CommandInput, context: CliContext): Promise<number> {
  const [name = '', email = ''] = input.arguments;
  return await context.withServices(async ({ accounts, teams }) => {
    const member = await requireMember(teams, name, await accounts.require(email));
    await teams.end(member);
    printResult(input, context, { team: name, account: member.id, name: email, removed: true }, [
      `${email} has left ${name}. Their token in the team has ended.`,
    ]);
    return 0;
  });
}

async function app(input: CommandInput, context: CliContext): Promise<number> {
  const [name = '', appName = ''] = input.arguments;
  const { flags } = input;
  const actions = ['replace-token', 'pause', 'resume', 'end'].filter((action) => flags[action] === true);
  if (actions.length > 1) throw new UsageError('Do one thing at a time.');
  const [action] = actions;
  const limits = limitsOf(input);
  return await context.withServices(async ({ accounts, teams }) => {
    const team = await teams.require(name);
    const there = (await teams.accounts(team.id)).find((one) => one.kind === 'app' && one.name === appName);
    if (action === undefined && there && Object.values(limits).some((value) => value !== undefined))
      return await changeApp({ input, context, limits }, there, teams);
    if (action === undefined) {
      const { app: made, token } = await teams.makeApp(team.id, appName, limits);
      printResult(input, context, { account: made.id, name: appName, token }, [
        token,
        'This token is shown only once.',
      ]);
      return 0;
    }
    const known = await teams.requireApp(team.id, appName);
    const result = { account: known.id, name: appName };
    if (action === 'replace-token') {
      const token = await accounts.replaceToken(known.id as AccountId);
      printResult(input, context, { ...result, token }, [token, 'The old token is no longer accepted.']);
      return 0;
    }
    if (action === 'end') await teams.end(known);
    else await teams.setPaused(known.id, action === 'pause');
    const state = { pause: 'paused', resume: 'active', end: 'ended' }[action];
    printResult(input, context, { ...result, state }, [`${appName} is now ${state}.`]);
    return 0;
  });
}

interface AppChange {
  readonly input: CommandInput;
  readonly context: CliContext;
  readonly limits: SpendingLimits;
}

/** Changes limits and budget of an app; its token stays valid. */
async function changeApp(
  { input, context, limits }: AppChange,
  { id }: Account,
  teams: Teams,
): Promise<number> {
  await teams.setLimits(id, limits);
  const changed = await teams.account(id);
  const result = { account: id, name: changed.name, budget: budgetOf(changed, context.clock.now()) };
  printResult(input, context, { ...result, ...tokenLimitsView(changed) }, [
    `The limits of ${changed.name} are changed. Its token stays.`,
  ]);
  return 0;
}

async function limit(input: CommandInput, context: CliContext): Promise<number> {
  const limits = {
    chatPerMinute: countFlag(input, 'chat'),
    imagesPerMinute: countFlag(input, 'images'),
    concurrent: countFlag(input, 'concurrent'),
    monthlyLimit: moneyFlag(input, 'monthly'),
  };
  return await context.withServices(async ({ accounts, teams, store }) => {
    const { id } = await teams.require(input.arguments[0] ?? '');
    await accounts.setLimits(id as AccountId, limits);
    await setTags(input, { store, clock: context.clock, walletId: id });
    const team = await teams.require(input.arguments[0] ?? '');
    const view = {
      team: team.name,
      chat_per_minute: team.chat_per_minute,
      images_per_minute: team.images_per_minute,
      concurrent: team.concurrent,
      monthly_usd: team.monthly_limit === null ? null : toUsdNumber(nanoUsd(team.monthly_limit)),
      tags: await chosenTags(store.db, id),
    };
    printResult(
      input,
      context,
      view,
      Object.entries(view).map(([key, value]) => `${key.padEnd(18)} ${shownValue(value)}`),
    );
    return 0;
  });
}

async function credit(input: CommandInput, context: CliContext): Promise<number> {
  const [name = '', amount = ''] = input.arguments;
  const cause = textFlag(input, 'reason') ?? 'credit by the operator';
  const entry = { kind: 'credit', amount: readAmount(amount), cause } as const;
  return await context.withServices(async (services) => {
    const { id } = await services.teams.require(name);
    return await bookEntry(input, { ...context, services }, { id, name, shown: { team: name } }, entry);
  });
}

async function close(input: CommandInput, context: CliContext): Promise<number> {
  const [name = ''] = input.arguments;
  return await context.withServices(async ({ teams }) => {
    const team = await teams.require(name);
    const { returned, writtenOff } = await teams.close(team, 'cli', {
      writeOff: textFlag(input, 'write-off'),
    });
    const result = {
      team: name,
      returned_usd: toUsdNumber(returned),
      written_off_usd: toUsdNumber(writtenOff),
    };
    printResult(input, context, result, [
      `${name} is closed. $${formatUsd(returned)} went back to an owner, $${formatUsd(writtenOff)} were written off.`,
    ]);
    return 0;
  });
}

async function requireMember(teams: Teams, name: string, person: Account): Promise<Account> {
  const team = await teams.require(name);
  const member = await teams.membership(person.id);
  if (member?.wallet_id !== team.id) throw new UsageError(`${person.email} is not in ${name}.`);
  return member;
}

function roleOf(text: string): TeamRole {
  const role = TEAM_ROLES.find((one) => one === text);
  if (!role) throw new UsageError(`'${text}' is not a role: owner, admin, viewer or member.`);
  return role;
}

function moneyView({ balance, held }: Account) {
  return { balance_usd: toUsdNumber(nanoUsd(balance)), held_usd: toUsdNumber(nanoUsd(held)) };
}

/** An account of a team, with what it used in its budget's period or, without a budget, this month. */
function accountView(account: Account, now: number) {
  const { kind, name } = account;
  const budget = budgetOf(account, now);
  return {
    account: account.id,
    name,
    kind,
    role: account.team_role,
    state: account.status === 'active' ? 'active' : 'paused',
    used_usd: budget?.used_usd ?? toUsdNumber(nanoUsd(monthSpent(account, now))),
    budget: budget && { amount_usd: budget.amount_usd, per: budget.per },
  };
}
