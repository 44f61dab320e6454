import {
  chooseTags,
  parseBudget,
  parseTagNames,
  type SpendingLimits,
} from '../identity/accounts/account-limits.ts';
import type { Account } from '../identity/accounts/accounts.ts';
import { Budget } from '../ledger/budget.ts';
import type { Clock } from '../std/clock.ts';
import { toUsdNumber } from '../std/money.ts';
import type { Store } from '../store/store.ts';
import { textFlag, UsageError, type CommandInput } from './command.ts';

/** The limits of an account's budget and token that a command names; `none` removes one. */
export function limitsOf(input: CommandInput): SpendingLimits {
  const [budget, models, networks, expires] = ['budget', 'models', 'networks', 'expires'].map((flag) =>
    textFlag(input, flag),
  );
  return {
    budget: budget === undefined ? undefined : parseBudget(budget),
    models: listOf(models),
    networks: listOf(networks),
    expiresAt: expires === undefined ? undefined : timeOf(expires),
  };
}

/** The budget with what its period has used by now; null: there is no budget. */
export function budgetOf(account: Account, now: number) {
  if (account.budget === null) return null;
  const budget = new Budget(account.budget, account);
  budget.enter(now);
  return { amount_usd: toUsdNumber(budget.amount), per: budget.per, used_usd: toUsdNumber(budget.used) };
}

/** What a token may be used for, as the command takes it. */
export function tokenLimitsView({ token_models, token_networks, token_expires_at }: Account) {
  return {
    models: token_models === null ? null : token_models.split('\n'),
    networks: token_networks === null ? null : token_networks.split('\n'),
    expires: token_expires_at === null ? null : new Date(token_expires_at).toISOString(),
  };
}

/** Which tags of a wallet's requests are kept; servers know it a few seconds later. */
export async function setTags(
  input: CommandInput,
  { store, clock, walletId }: { readonly store: Store; readonly clock: Clock; readonly walletId: string },
): Promise<void> {
  const tags = textFlag(input, 'tags');
  if (tags !== undefined) await chooseTags(store, walletId, parseTagNames(tags), clock.now());
}

function listOf(text: string | undefined): readonly string[] | null | undefined {
  if (text === undefined) return undefined;
  return text === 'none' ? null : text.split(',').map((one) => one.trim());
}

function timeOf(text: string): number | null {
  return text === 'none' ? null : momentOf(text);
}

const MOMENT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)?(Z|[+-]\d\d:\d\d)?$/;

/** UTC, where the text names no other zone: by itself, a time without one would be that of the machine. */
export function momentOf(text: string): number {
  const [isDate, clock, zone] = MOMENT.exec(text) ?? [];
  const isZoneless = clock !== undefined && zone === undefined;
  const time = isDate === undefined ? Number.NaN : Date.parse(isZoneless ? `${text}Z` : text);
  if (Number.isNaN(time)) throw new UsageError(`'${text}' is not a date such as 2030-12-31.`);
  return time;
}
