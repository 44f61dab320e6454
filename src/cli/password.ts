import { UsageError, type CliContext, type CommandInput } from './command.ts';

export const PASSWORD_STDIN_FLAG = { 'password-stdin': { type: 'boolean' } } as const;

const SEEN_BY_OTHERS =
  'warning: others on this machine can see a password on the command line; use --password-stdin instead.';

/**
 * The password from the command line (with a warning), from standard input, or from whoever sits at the terminal;
 * `undefined` when it is none of these.
 */
export async function readPassword(
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

/** For a command that cannot do without. */
export async function requirePassword(
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
