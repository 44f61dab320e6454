import { chooseTags, parseTagNames } from '../activity/request-tags.ts';
import { parseBudget, type SpendingLimits } from '../identity/accounts/account-limits.ts';
import type { Clock } from '../std/clock.ts';
import type { Store } from '../store/store.ts';
import { textFlag, UsageError, type CommandInput } from './command.ts';

/** Of an account's budget and its token; `none` removes a limit. */
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

/** UTC, where the text names no other zone. */
export function momentOf(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new UsageError(`'${text}' is not a date such as 2030-12-31.`);
  return time;
}
