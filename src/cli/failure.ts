import { CatalogError } from '../catalog/mistakes.ts';
import { AuthRefusal } from '../identity/sign-in/refusal.ts';
import { didYouMean } from '../std/closest.ts';
import { Fault } from '../std/fault.ts';
import { SettingError, StartupError } from '../std/startup-error.ts';
import { CommandRefused, NotFoundError, ServerUnavailable, UsageError } from './command.ts';

/** What a script can tell apart. 1 is a check that found something, or an error that nobody expected. */
export const EXIT_CODES = {
  done: 0,
  failed: 1,
  usage: 2,
  not_found: 3,
  refused: 4,
  unavailable: 5,
} as const;

export interface CommandFailure {
  /** For programs: `usage`, `not_found`, or the code of whoever refused. */
  readonly code: string;
  readonly message: string;
  readonly exit: number;
}

/** What an expected error means to whoever ran the command; `undefined` for any other. */
export function commandFailure(thrown: unknown, knownOptions: readonly string[]): CommandFailure | undefined {
  if (thrown instanceof UsageError || thrown instanceof SettingError || thrown instanceof CatalogError)
    return failure('usage', thrown.message);
  if (thrown instanceof NotFoundError) return failure('not_found', thrown.message);
  if (thrown instanceof CommandRefused) return failure('refused', thrown.message);
  if (thrown instanceof StartupError || thrown instanceof ServerUnavailable)
    return failure('unavailable', thrown.message);
  if (thrown instanceof Fault || thrown instanceof AuthRefusal)
    return { code: thrown.code, message: thrown.message, exit: EXIT_CODES[meaningOf(thrown.status)] };
  if (thrown instanceof TypeError && 'code' in thrown)
    return failure('usage', optionMistake(thrown.message, knownOptions));
  return undefined;
}

function failure(code: 'usage' | 'not_found' | 'refused' | 'unavailable', message: string): CommandFailure {
  return { code, message, exit: EXIT_CODES[code] };
}

function meaningOf(status: number): 'not_found' | 'refused' | 'unavailable' {
  if (status === 404) return 'not_found';
  return status >= 500 ? 'unavailable' : 'refused';
}

/** The sentence of `parseArgs` about an unknown option has a second half about something else. */
function optionMistake(message: string, known: readonly string[]): string {
  const option = /^Unknown option '(--?[^']+)'/.exec(message)?.[1];
  return option === undefined ? message : `There is no option '${option}'.${didYouMean(option, known)}`;
}
