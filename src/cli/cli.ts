import { parseArgs } from 'node:util';
import { archiveCommand } from './archive.ts';
import { accountCommands } from './account.ts';
import { auditedContext } from './audited.ts';
import { ledgerCommands } from './ledger.ts';
import { marginCommand } from './margin.ts';
import { backupCommands } from './backup.ts';
import { catalogCommands } from './catalog-commands.ts';
import { configCommand } from './config.ts';
import { UsageError, type CliContext, type CliCommand } from './command.ts';
import { reconcileCommand } from './reconcile.ts';
import { secretCommands } from './secret.ts';
import { doctorCommand } from './doctor.ts';
import { EXIT_CODES, commandFailure } from './failure.ts';
import { healthCommand } from './health.ts';
import { helpText, helpTopic, unknownCommand } from './help.ts';
import { version } from '../../package.json' with { type: 'json' };

export const COMMANDS: readonly CliCommand[] = [
  ...accountCommands,
  ...ledgerCommands,
  marginCommand,
  reconcileCommand,
  archiveCommand,
  ...catalogCommands,
  ...backupCommands,
  ...secretCommands,
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
      Object.keys(command?.flags ?? {}).map((name) => `--${name}`),
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
    context.print(argv.includes('--json') ? JSON.stringify({ version }) : version);
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
    options: command.flags,
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
