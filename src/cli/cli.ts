import { parseArgs } from 'node:util';
import { CatalogError } from '../catalog/mistakes.ts';
import { didYouMean } from '../std/closest.ts';
import { Fault } from '../std/fault.ts';
import { SettingError, StartupError } from '../std/startup-error.ts';
import { accountCommands } from './account.ts';
import { archiveCommand } from './archive.ts';
import { auditedContext } from './audited.ts';
import { backupCommands } from './backup.ts';
import { catalogCommands } from './catalog.ts';
import {
  AS_FLAG,
  UsageError,
  CommandRefused,
  NotFoundError,
  ServerUnavailable,
  type CliContext,
  type CliCommand,
} from './command.ts';
import { configCommand } from './config.ts';
import { doctorCommand } from './doctor.ts';
import { healthCommand } from './health.ts';
import { ledgerCommands } from './ledger.ts';
import { marginCommand } from './margin.ts';
import { reconcileCommand } from './reconcile.ts';
import { metricsCommand, secretCommands } from './secret.ts';
import { moveCommand } from './move.ts';
import { teamCommands } from './team.ts';
import { currentRelease, releaseName } from '../std/release.ts';

export const COMMANDS: readonly CliCommand[] = [
  ...accountCommands,
  ...teamCommands,
  ...ledgerCommands,
  marginCommand,
  reconcileCommand,
  archiveCommand,
  ...catalogCommands,
  ...backupCommands,
  moveCommand,
  ...secretCommands,
  metricsCommand,
  configCommand,
  doctorCommand,
  healthCommand,
];

/** Runs one command; returns the exit code. A user's mistake is reported in one line on standard error, without a stack. */
export async function runCli(
  argv: readonly string[],
  context: CliContext,
  printError: (line: string) => void,
): Promise<number> {
  const command = COMMANDS.find(({ name }) => argv.slice(0, name.split(' ').length).join(' ') === name);
  const isJson = argv.includes('--json');
  try {
    return await run(argv, command, context);
  } catch (thrown) {
    const failure = commandFailure(
      thrown,
      Object.keys({ ...command?.flags, ...AS_FLAG }).map((name) => `--${name}`),
    );
    if (!failure && !isJson) throw thrown;
    const { code, message, exit } = failure ?? {
      code: 'internal_error',
      message: thrown instanceof Error ? thrown.message : String(thrown),
      exit: EXIT_CODES.failed,
    };
    if (isJson) printError(JSON.stringify({ error: { code, message } }));
    else printError(command && code === 'usage' ? `${message}\n\n${usageOf(command)}` : message);
    return exit;
  }
}

async function run(
  argv: readonly string[],
  command: CliCommand | undefined,
  context: CliContext,
): Promise<number> {
  if (argv[0] === '--version' || argv[0] === 'version') {
    const release = currentRelease();
    context.print(argv.includes('--json') ? JSON.stringify(release) : releaseName(release));
    return EXIT_CODES.done;
  }
  const words = argv[0] === 'help' ? argv.slice(1) : argv;
  if (words !== argv || asksForHelp(argv)) return printHelp(words, context);
  if (command) return await runCommand(command, argv.slice(command.name.split(' ').length), context);
  if (argv[0] === 'serve')
    throw new UsageError('serve takes no arguments; `tollgate config` shows how it is configured.');
  // A group alone, such as `tollgate account`, asks which commands it has.
  if (helpTopic(words, COMMANDS) && words.every((word) => word === '--json' || !word.startsWith('-')))
    return printHelp(words, context);
  throw unknownCommand(words, COMMANDS);
}

async function runCommand(
  command: CliCommand,
  args: readonly string[],
  context: CliContext,
): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { ...command.flags, ...AS_FLAG },
    allowPositionals: true,
  });
  if (positionals.length < command.minArguments) throw new UsageError('An argument is missing.');
  const most = command.maxArguments ?? command.minArguments;
  if (positionals.length > most) throw new UsageError(`One argument is too many: '${positionals[most]}'.`);
  const input = { arguments: positionals, flags: values };
  return await command.run(input, auditedContext(command, input, context));
}

function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end < 0 ? argv : argv.slice(0, end)).some((word) => word === '--help' || word === '-h');
}

function printHelp(words: readonly string[], context: CliContext): number {
  const topic = helpTopic(words, COMMANDS);
  if (!topic) throw unknownCommand(words, COMMANDS);
  const commands = topic.map(({ name, usage, about }) => ({ name, usage, about }));
  context.print(words.includes('--json') ? JSON.stringify({ commands }) : helpText(topic));
  return EXIT_CODES.done;
}

function usageOf({ name, usage }: CliCommand): string {
  return `usage: tollgate ${name} ${usage}`.trimEnd();
}

/** What a script can tell apart. 1 is a check that found something, or an error that nobody expected. */
const EXIT_CODES = {
  done: 0,
  failed: 1,
  usage: 2,
  not_found: 3,
  refused: 4,
  unavailable: 5,
} as const;

interface CommandFailure {
  /** For programs: `usage`, `not_found`, or the code of the refusal. */
  readonly code: string;
  readonly message: string;
  readonly exit: number;
}

/** How an expected error is reported; `undefined` for any other. */
function commandFailure(thrown: unknown, knownOptions: readonly string[]): CommandFailure | undefined {
  if (thrown instanceof UsageError || thrown instanceof SettingError || thrown instanceof CatalogError)
    return failure('usage', thrown.message);
  if (thrown instanceof NotFoundError) return failure('not_found', thrown.message);
  if (thrown instanceof CommandRefused) return failure('refused', thrown.message);
  if (thrown instanceof StartupError || thrown instanceof ServerUnavailable)
    return failure('unavailable', thrown.message);
  if (thrown instanceof Fault)
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

type Described = Pick<CliCommand, 'name' | 'usage' | 'about'>;

const SERVE: Described = {
  name: 'serve',
  usage: '',
  about: 'run the server. Configure it with environment variables and the catalog file',
};
const HELP: Described = {
  name: 'help',
  usage: '[COMMAND] [--json]',
  about: 'print this help, or the help of a command',
};
const VERSION: Described = {
  name: '--version',
  usage: '[--json]',
  about: 'print the version and the commit',
};

/** All topics of the help, with the commands that are no {@link CliCommand}. */
function described(commands: readonly CliCommand[]): readonly Described[] {
  return [SERVE, ...commands, HELP, VERSION];
}

/** The command, or all commands, that the words before the first option name; `undefined` when there is none. */
function helpTopic(
  words: readonly string[],
  commands: readonly CliCommand[],
): readonly Described[] | undefined {
  const asked = words.filter((word) => !word.startsWith('-')).join(' ');
  const all = described(commands);
  if (asked === '') return all;
  const exact = all.filter(({ name }) => asked === name || asked.startsWith(`${name} `));
  if (exact.length > 0) return exact;
  const group = all.filter(({ name }) => name.startsWith(`${asked} `));
  return group.length > 0 ? group : undefined;
}

function unknownCommand(words: readonly string[], commands: readonly CliCommand[]): UsageError {
  const named = words.filter((word) => !word.startsWith('-'));
  const names = described(commands).map(({ name }) => name);
  const groups = names.flatMap((name) => name.split(' ').slice(0, -1));
  const hint =
    didYouMean(named.slice(0, 2).join(' '), names) || didYouMean(named[0] ?? '', [...names, ...groups]);
  const shown = (named.length > 0 ? named : words).slice(0, 2).join(' ');
  return new UsageError(`There is no command '${shown}'.${hint} All of them: tollgate help`);
}

function helpText(topic: readonly Described[]): string {
  const lines = topic.map(
    ({ name, usage, about }) => `  ${`tollgate ${name} ${usage}`.trim()}\n      ${about}`,
  );
  return `${INTRODUCTION}\n\n${lines.join('\n')}\n\n${ENDING}`;
}

const INTRODUCTION =
  'tollgate: one API in front of many AI backends, that never spends money it does not have';
const ENDING = `Every command takes --help, and --json: one line of JSON per result, and errors as {"error":{"code","message"}} on
standard error.

Exit codes: 0 done. 1 a check found something. 2 a mistake in the command or the configuration. 3 not found. 4 refused.
5 the store or a server is not available.`;
