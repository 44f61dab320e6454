import { chosenTags } from '../identity/accounts/account-limits.ts';
import { moneyOf, type Account, type AccountLimits } from '../identity/accounts/accounts.ts';
import { readOperatorRole } from '../identity/accounts/roles.ts';
import { removeAccount } from '../identity/accounts/removal.ts';
import { checkNewPassword, makePasswords } from '../identity/sign-in/password.ts';
import { makeUsers } from '../identity/sign-in/users.ts';
import type { NewEntry } from '../ledger/port.ts';
import type { AccountId } from '../std/ids.ts';
import { formatUsd, nanoUsd, parseUsd, toUsdNumber, type NanoUsd } from '../std/money.ts';
import type { Store } from '../store/store.ts';
import { recordCommand } from './audited.ts';
import {
  CommandRefused,
  JSON_FLAG,
  printResult,
  textFlag,
  UsageError,
  type AuditedCommand,
  type CliContext,
  type CliServices,
  type CliCommand,
  type CommandInput,
  shownValue,
} from './command.ts';
import { accountGroupCommand } from './price-group.ts';
import { resetLinkCommand } from './reset-link.ts';
import { budgetOf, limitsOf, setTags, tokenLimitsView } from './spending-limits.ts';

const PASSWORD_STDIN_FLAG = { 'password-stdin': { type: 'boolean' } } as const;

export const accountCommands: readonly CliCommand[] = [
  {
    name: 'account create',
    usage: 'EMAIL [--balance USD] [--password-stdin | --password P] [--admin] [--json]',
    about: 'create an account and print its token, which is shown only once',
    flags: {
      ...JSON_FLAG,
      balance: { type: 'string' },
      password: { type: 'string' },
      ...PASSWORD_STDIN_FLAG,
      admin: { type: 'boolean' },
    },
    minArguments: 1,
    audit: (input) => ({
      action: 'account.create',
      isAboutAccount: false,
      detail: {
        balanceUsd: textFlag(input, 'balance') ?? '0',
        role: input.flags['admin'] === true ? 'admin' : 'user',
      },
    }),
    run: create,
  },
  {
    name: 'account show',
    usage: 'EMAIL [--json]',
    about: 'show balance, holds and limits',
    flags: JSON_FLAG,
    minArguments: 1,
    run: show,
  },
  {
    name: 'account list',
    usage: '[--json]',
    about: 'list all accounts',
    flags: JSON_FLAG,
    minArguments: 0,
    run: list,
  },
  {
    name: 'account credit',
    usage: 'EMAIL USD [--key KEY] [--reason TEXT] [--refund] [--json]',
    about: 'add to a balance. --key, such as an invoice number, makes repeats count once',
    flags: { ...JSON_FLAG, key: { type: 'string' }, reason: { type: 'string' }, refund: { type: 'boolean' } },
    minArguments: 2,
    audit: (input) =>
      onAccount(input.flags['refund'] === true ? 'account.refund' : 'account.credit', {
        amountUsd: input.arguments[1],
        cause: textFlag(input, 'reason') ?? '',
        key: textFlag(input, 'key'),
      }),
    run: credit,
  },
  {
    name: 'account debit',
    usage: 'EMAIL USD --reason TEXT [--key KEY] [--json]',
    about: 'take from a balance, at most what is not on hold. --key makes repeats count once',
    flags: { ...JSON_FLAG, key: { type: 'string' }, reason: { type: 'string' } },
    minArguments: 2,
    audit: (input) =>
      onAccount('account.adjust', {
        amountUsd: `-${input.arguments[1]}`,
        cause: textFlag(input, 'reason') ?? '',
        key: textFlag(input, 'key'),
      }),
    run: debit,
  },
  {
    name: 'account token',
    usage: 'EMAIL [--json]',
    about: 'replace the token. The old one stops working immediately',
    flags: JSON_FLAG,
    minArguments: 1,
    audit: () => onAccount('account.replace-token'),
    run: replaceToken,
  },
  {
    name: 'account limit',
    usage:
      'EMAIL [--chat N] [--images N] [--concurrent N] [--monthly USD] [--budget 5/day|none] [--models PATTERN,…|none] [--networks CIDR,…|none] [--expires DATE|none] [--tags project,customer|none] [--json]   (`default` restores the default)',
    about: 'set the limits of an account, and the tags kept with its requests',
    flags: {
      ...JSON_FLAG,
      chat: { type: 'string' },
      images: { type: 'string' },
      concurrent: { type: 'string' },
      monthly: { type: 'string' },
      budget: { type: 'string' },
      models: { type: 'string' },
      networks: { type: 'string' },
      expires: { type: 'string' },
      tags: { type: 'string' },
    },
    minArguments: 1,
    audit: ({ flags }) => onAccount('account.limits', { ...flags, json: undefined, as: undefined }),
    run: limit,
  },
  accountGroupCommand,
  {
    name: 'account password',
    usage: 'EMAIL [--password-stdin | PASSWORD] [--json]',
    about: 'set the console password of an account. Type it when asked, or pass it on standard input',
    flags: { ...JSON_FLAG, ...PASSWORD_STDIN_FLAG },
    minArguments: 1,
    maxArguments: 2,
    audit: () => onAccount('account.reset-password'),
    run: password,
  },
  resetLinkCommand,
  {
    name: 'account role',
    usage: 'EMAIL owner|full|support|finance|read|none [--json]',
    about: 'give a person a role as operator, or take it away. Their sessions end',
    flags: JSON_FLAG,
    minArguments: 2,
    audit: (input) => ({ ...onAccount('operator.role'), detail: { role: input.arguments[1] } }),
    run: setRole,
  },
  {
    name: 'account disable',
    usage: 'EMAIL [--json]',
    about: 'disable an account. Its token stops working',
    flags: JSON_FLAG,
    minArguments: 1,
    audit: () => onAccount('account.disable'),
    run: (input, context) => setStatus(input, context, 'disabled'),
  },
  {
    name: 'account enable',
    usage: 'EMAIL [--json]',
    about: 'enable an account. Its token works again',
    flags: JSON_FLAG,
    minArguments: 1,
    audit: () => onAccount('account.enable'),
    run: (input, context) => setStatus(input, context, 'active'),
  },
  {
    name: 'account allow-cards',
    usage: 'EMAIL [--json]',
    about: 'allow card payments again after a dispute',
    flags: JSON_FLAG,
    minArguments: 1,
    audit: () => onAccount('account.allow-cards'),
    run: allowCards,
  },
  {
    name: 'account remove',
    usage: 'EMAIL --yes [--reason TEXT] [--json]',
    about:
      'remove an account: address, token, sign-in and images. Ledger entries stay under its ID. --reason writes off the balance. Cannot be undone',
    flags: { ...JSON_FLAG, yes: { type: 'boolean' }, reason: { type: 'string' } },
    minArguments: 1,
    run: remove,
  },
];

function onAccount(action: string, detail: AuditedCommand['detail'] = {}): AuditedCommand {
  return { action, isAboutAccount: true, detail };
}

async function create(input: CommandInput, context: CliContext): Promise<number> {
  const [email = ''] = input.arguments;
  const balance = readAmount(textFlag(input, 'balance') ?? '0');
  const newPassword = await readPassword(textFlag(input, 'password'), input, context);
  // Checked before anything is created: a weak password must not leave an account without one.
  if (newPassword !== undefined) await checkNewPassword(newPassword, email);
  return await context.withServices(async (services) => {
    const role = input.flags['admin'] === true ? 'admin' : 'user';
    const { account, token } = await services.accounts.create(email, { balance, role, actor: 'cli' });
    const created = { action: 'account.created', target: account.id, detail: {} };
    await recordCommand(services.store, created, { input, context });
    if (newPassword !== undefined) await usersOf(services, context).setPassword(account.id, newPassword);
    const result = { account: account.id, email: account.email, token, balance_usd: toUsdNumber(balance) };
    printResult(input, context, result, [
      `account ${account.email}`,
      `balance $${formatUsd(balance)}`,
      `token   ${token}`,
      'This token is shown only once.',
    ]);
    return 0;
  });
}

async function show(input: CommandInput, context: CliContext): Promise<number> {
  return await context.withServices(async ({ accounts, teams, store }) => {
    const account = await accounts.require(input.arguments[0] ?? '');
    // Budget and token of somebody in a team are those of their account there.
    const spender = (await teams.membership(account.id)) ?? account;
    const view = {
      ...accountView(account),
      budget: budgetOf(spender, context.clock.now()),
      ...tokenLimitsView(spender),
      tags: await chosenTags(store.db, account.id),
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

async function list(input: CommandInput, context: CliContext): Promise<number> {
  return await context.withServices(async ({ accounts }) => {
    for (let after = ''; ;) {
      const page = await accounts.list(after);
      for (const account of page) {
        const { balance } = moneyOf(account);
        printResult(input, context, accountView(account), [
          `${account.email}  $${formatUsd(balance)}  ${account.status}  ${account.role}`,
        ]);
      }
      const last = page.at(-1);
      if (!last || page.length < 100) return 0;
      after = last.id;
    }
  });
}

async function credit(input: CommandInput, context: CliContext): Promise<number> {
  const kind = input.flags['refund'] === true ? 'refund' : 'credit';
  const cause = textFlag(input, 'reason') ?? `${kind} by the operator`;
  return await post(input, context, { kind, cause, amount: readAmount(input.arguments[1] ?? '') });
}

async function debit(input: CommandInput, context: CliContext): Promise<number> {
  const cause = textFlag(input, 'reason');
  if (cause === undefined) throw new UsageError('Say with --reason why it is taken: the customer sees it.');
  const amount = 0 - readAmount(input.arguments[1] ?? '');
  return await post(input, context, { kind: 'adjustment', cause, amount });
}

async function post(
  input: CommandInput,
  context: CliContext,
  entry: Pick<NewEntry, 'kind' | 'amount' | 'cause'>,
): Promise<number> {
  return await context.withServices(async (services) => {
    const { id, email } = await services.accounts.require(input.arguments[0] ?? '');
    const named = { id, name: email, shown: { account: id, email } };
    return await bookEntry(input, { ...context, services }, named, entry);
  });
}

/** With the same key and account, or team, only the first one counts; one of another amount is a mistake. */
export async function bookEntry(
  input: CommandInput,
  context: CliContext & { readonly services: Pick<CliServices, 'ledger' | 'store'> },
  { id, name, shown }: { readonly id: string; readonly name: string; readonly shown: object },
  entry: Pick<NewEntry, 'kind' | 'amount' | 'cause'>,
): Promise<number> {
  const { ledger, store } = context.services;
  const key = textFlag(input, 'key');
  const once = key === undefined ? undefined : `cli:${id}:${key}`;
  const before = once === undefined ? undefined : await postedWith(store, once);
  if (before !== undefined && (before.amount !== entry.amount || before.kind !== entry.kind))
    throw new CommandRefused(
      `The key '${key}' was used for ${name} before, for a ${before.kind} of $${formatUsd(nanoUsd(Math.abs(before.amount)))}. Nothing was changed.`,
    );
  const { balance } = await ledger.post({ ...entry, accountId: id as AccountId, actor: 'cli', once });
  const repeated = before !== undefined;
  printResult(input, context, { ...shown, balance_usd: toUsdNumber(balance), repeated }, [
    repeated
      ? `This key was used before, so nothing was changed. ${name} has $${formatUsd(balance)}.`
      : `${name} now has $${formatUsd(balance)}.`,
  ]);
  return 0;
}

async function postedWith({ db }: Store, once: string) {
  return await db.selectFrom('entry').select(['kind', 'amount']).where('once', '=', once).executeTakeFirst();
}

async function replaceToken(input: CommandInput, context: CliContext): Promise<number> {
  return await context.withServices(async ({ accounts, teams }) => {
    const account = await accounts.require(input.arguments[0] ?? '');
    const member = await teams.membership(account.id);
    if (member?.team_role === 'viewer')
      throw new CommandRefused(`${account.email} only looks on in a team, and has no token.`);
    const { id } = member ?? account;
    const token = await accounts.replaceToken(id as AccountId);
    printResult(input, context, { account: id, email: account.email, token }, [
      token,
      'The old token is no longer accepted. The new one is shown only once.',
    ]);
    return 0;
  });
}

async function limit(input: CommandInput, context: CliContext): Promise<number> {
  const limits: AccountLimits = {
    chatPerMinute: countFlag(input, 'chat'),
    imagesPerMinute: countFlag(input, 'images'),
    concurrent: countFlag(input, 'concurrent'),
    monthlyLimit: moneyFlag(input, 'monthly'),
  };
  const spending = limitsOf(input);
  return await context.withServices(async (services) => {
    const { accounts, teams, store } = services;
    const account = await accounts.require(input.arguments[0] ?? '');
    await accounts.setLimits(account.id as AccountId, limits);
    const spender = (await teams.membership(account.id)) ?? account;
    await teams.setLimits(spender.id, spending);
    await setTags(input, { store, clock: context.clock, walletId: account.id });
    return await show(input, { ...context, withServices: (work) => work(services) });
  });
}

async function password(input: CommandInput, context: CliContext): Promise<number> {
  const [email = '', given] = input.arguments;
  const newPassword = await requirePassword(given, input, context);
  return await context.withServices(async (services) => {
    const account = await services.accounts.require(email);
    await usersOf(services, context).setPassword(account.id, newPassword);
    printResult(input, context, { account: account.id, email: account.email }, [
      `${account.email} can now sign in with the new password.`,
    ]);
    return 0;
  });
}

async function setRole(input: CommandInput, context: CliContext): Promise<number> {
  const [email = '', word = ''] = input.arguments;
  const role = word === 'none' ? null : readOperatorRole(word);
  return await context.withServices(async ({ accounts, operators }) => {
    const { id } = await accounts.require(email);
    await operators.setRole(id, role, 'cli');
    printResult(input, context, { account: id, email, role }, [
      role === null ? `${email} no longer operates this server.` : `${email} now has the role ${role}.`,
    ]);
    return 0;
  });
}

async function setStatus(
  input: CommandInput,
  context: CliContext,
  status: 'active' | 'disabled',
): Promise<number> {
  return await context.withServices(async ({ accounts }) => {
    const account = await accounts.require(input.arguments[0] ?? '');
    await accounts.setStatus(account.id as AccountId, status);
    printResult(input, context, { account: account.id, email: account.email, status }, [
      `${account.email} is now ${status}.`,
    ]);
    return 0;
  });
}

async function allowCards(input: CommandInput, context: CliContext): Promise<number> {
  return await context.withServices(async ({ accounts }) => {
    const { id, email, cards_off_at: since } = await accounts.require(input.arguments[0] ?? '');
    await accounts.allowCards(id as AccountId);
    printResult(input, context, { account: id, email, was_off: since !== null }, [
      since === null
        ? `${email} could pay by card already; nothing was changed.`
        : `${email} can pay by card again. Automatic top-up stays off until its owner turns it on.`,
    ]);
    return 0;
  });
}

async function remove(input: CommandInput, context: CliContext): Promise<number> {
  const [email = ''] = input.arguments;
  return await context.withServices(async ({ accounts, store, ledger, images }) => {
    const { id } = await accounts.require(email);
    if (input.flags['yes'] !== true)
      throw new UsageError(`Nothing was removed. ${email} is ${id}; add --yes to remove it for good.`);
    const { clock } = context;
    const removal = { accountId: id, reason: textFlag(input, 'reason'), actor: 'cli' };
    const { writtenOff } = await removeAccount({ store, ledger, clock, images }, removal);
    const detail = { reason: removal.reason, written_off: writtenOff };
    await recordCommand(store, { action: 'account.remove', target: id, detail }, { input, context });
    const amount = nanoUsd(writtenOff);
    printResult(input, context, { account: id, written_off_usd: toUsdNumber(amount) }, [
      `${email} was removed. Its books stay under ${id}.`,
      ...(writtenOff > 0 ? [`$${formatUsd(amount)} were written off.`] : []),
    ]);
    return 0;
  });
}

function usersOf({ store }: CliServices, { clock }: CliContext) {
  return makeUsers({ store, clock, passwords: makePasswords() });
}

function accountView(account: Account) {
  const { balance, held } = moneyOf(account);
  return {
    account: account.id,
    email: account.email,
    role: account.role,
    status: account.status,
    cards_off_since: account.cards_off_at === null ? null : new Date(account.cards_off_at).toISOString(),
    balance_usd: toUsdNumber(balance),
    held_usd: toUsdNumber(held),
    running: account.open_holds,
    token: account.token_hint,
    chat_per_minute: account.chat_per_minute,
    images_per_minute: account.images_per_minute,
    concurrent: account.concurrent,
    monthly_usd: account.monthly_limit === null ? null : toUsdNumber(nanoUsd(account.monthly_limit)),
    created_at: new Date(account.created_at).toISOString(),
  };
}

export function readAmount(text: string): NanoUsd {
  const value = parseUsd(text);
  if (value === undefined) throw new UsageError(`'${text}' is not an amount in dollars, such as 5 or 0.25.`);
  return value;
}

/** An absent flag changes nothing; `default` restores the catalog's limit. */
export function countFlag(input: CommandInput, name: string): number | null | undefined {
  const text = textFlag(input, name);
  if (text === undefined) return undefined;
  if (text === 'default') return null;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 1_000_000)
    throw new UsageError(`--${name} takes a whole number from 1 to 1,000,000, or 'default'.`);
  return value;
}

export function moneyFlag(input: CommandInput, name: string): NanoUsd | null | undefined {
  const text = textFlag(input, name);
  if (text === undefined) return undefined;
  return text === 'default' ? null : readAmount(text);
}

const SEEN_BY_OTHERS =
  'warning: others on this machine can see a password on the command line; use --password-stdin instead.';

/**
 * The password from the command line (with a warning), from standard input, or typed at the terminal; `undefined` when
 * it is none of these.
 */
async function readPassword(
  given: string | undefined,
  input: CommandInput,
  { warn, passwordInput }: CliContext,
): Promise<string | undefined> {
  const fromInput = input.flags['password-stdin'] === true;
  if (given !== undefined) {
    if (fromInput)
      throw new UsageError('Give the password on the command line or on standard input, not both.');
    warn(SEEN_BY_OTHERS);
    return given;
  }
  if (!fromInput) return undefined;
  if (passwordInput.isTerminal) return await askTwice(passwordInput);
  const line = await passwordInput.readLine();
  if (line === '') throw new UsageError('There is no password on standard input.');
  return line;
}

/** For a command that needs a password. */
async function requirePassword(
  given: string | undefined,
  input: CommandInput,
  context: CliContext,
): Promise<string> {
  const { passwordInput } = context;
  const password = await readPassword(given, input, context);
  if (password !== undefined) return password;
  if (passwordInput.isTerminal) return await askTwice(passwordInput);
  throw new UsageError('A password is missing. Write it to standard input and add --password-stdin.');
}

async function askTwice(terminal: CliContext['passwordInput']): Promise<string> {
  const password = await terminal.ask('Password: ');
  if ((await terminal.ask('Again: ')) !== password) throw new UsageError('The two passwords differ.');
  return password;
}
