import { parseBudget, type SpendingLimits } from '../identity/accounts/account-limits.ts';
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
