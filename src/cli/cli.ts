import { parseArgs } from 'node:util';
import { Fault } from '../std/fault.ts';
import { StartupError } from '../std/startup-error.ts';
import { AuthRefusal } from '../identity/sign-in/refusal.ts';
import { archiveCommand } from './archive.ts';
import { accountCommands } from './account.ts';
import { auditedContext } from './audited.ts';
import { ledgerCommands } from './ledger.ts';
import { marginCommands } from './margin.ts';
import { catalogCommands } from './catalog-commands.ts';
import { UsageError, type CliContext, type CliCommand } from './command.ts';
import { secretCommands } from './secret.ts';
import { doctorCommand } from './doctor.ts';
import { version } from '../../package.json' with { type: 'json' };

export const COMMANDS: readonly CliCommand[] = [
  ...accountCommands,
  ...ledgerCommands,
  ...marginCommands,
  archiveCommand,
  ...catalogCommands,
  ...secretCommands,
  doctorCommand,
];

/** Runs one command; returns the exit code. A user's mistake is reported in one line on standard error, without a stack. */
export async function runCli(
  argv: readonly string[],
  context: CliContext,
  printError: (line: string) => void,
): Promise<number> {
  if (argv[0] === '--version') {
    context.print(version);
    return 0;
  }
  const command = COMMANDS.find(({ name }) => argv.slice(0, name.split(' ').length).join(' ') === name);
  if (!command) {
    printError(
      argv.length === 0 || isHelp(argv[0]) ? help() : `There is no command '${argv.join(' ')}'.\n\n${help()}`,
    );
    return isHelp(argv[0]) ? 0 : 2;
  }
  try {
    const args = argv.slice(command.name.split(' ').length);
    const { values, positionals } = parseArgs({
      args: [...args],
      options: command.flags,
      allowPositionals: true,
    });
    if (positionals.length < command.minArguments) throw new UsageError('An argument is missing.');
    const input = { arguments: positionals, flags: values };
    return await command.run(input, auditedContext(command, input, context));
  } catch (thrown) {
    const message = messageOf(thrown);
    if (message === undefined) throw thrown;
    printError(`${message}\n\nusage: tollgate ${command.name} ${command.usage}`);
    return 2;
  }
}

export function help(): string {
  const serve = { name: 'serve', usage: '', about: 'run the server' };
  const showVersion = { name: '--version', usage: '', about: 'print the version' };
  const lines = [serve, ...COMMANDS, showVersion].map(
    ({ name, usage, about }) => `  ${`tollgate ${name} ${usage}`.trim()}\n      ${about}`,
  );
  return `tollgate: one API in front of many AI backends, that never spends money it does not have\n\n${lines.join('\n')}`;
}

function isHelp(word: string | undefined): boolean {
  return word === 'help' || word === '--help' || word === '-h';
}

/** The message of an expected error; `undefined` for any other. */
function messageOf(thrown: unknown): string | undefined {
  if (
    thrown instanceof UsageError ||
    thrown instanceof Fault ||
    thrown instanceof StartupError ||
    thrown instanceof AuthRefusal
  )
    return thrown.message;
  return thrown instanceof TypeError && 'code' in thrown ? thrown.message : undefined;
}
