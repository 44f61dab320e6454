import { didYouMean } from '../std/closest.ts';
import { UsageError, type CliCommand } from './command.ts';

type Described = Pick<CliCommand, 'name' | 'usage' | 'about'>;

const SERVE: Described = {
  name: 'serve',
  usage: '',
  about: 'run the server; it is configured by its environment and the catalog file',
};
const HELP: Described = {
  name: 'help',
  usage: '[COMMAND] [--json]',
  about: 'print this, or the help of a command',
};
const VERSION: Described = { name: '--version', usage: '[--json]', about: 'print the version' };

/** All that can be asked for, with the commands that are no {@link CliCommand}. */
function described(commands: readonly CliCommand[]): readonly Described[] {
  return [SERVE, ...commands, HELP, VERSION];
}

/** The command, or all commands, that the words before the first option name; `undefined` when there is none. */
export function helpTopic(
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

export function unknownCommand(words: readonly string[], commands: readonly CliCommand[]): UsageError {
  const named = words.filter((word) => !word.startsWith('-'));
  const names = described(commands).map(({ name }) => name);
  const groups = names.flatMap((name) => name.split(' ').slice(0, -1));
  const hint =
    didYouMean(named.slice(0, 2).join(' '), names) || didYouMean(named[0] ?? '', [...names, ...groups]);
  const shown = (named.length > 0 ? named : words).slice(0, 2).join(' ');
  return new UsageError(`There is no command '${shown}'.${hint} All of them: tollgate help`);
}

export function helpText(topic: readonly Described[]): string {
  const lines = topic.map(
    ({ name, usage, about }) => `  ${`tollgate ${name} ${usage}`.trim()}\n      ${about}`,
  );
  return `${INTRODUCTION}\n\n${lines.join('\n')}\n\n${ENDING}`;
}

const INTRODUCTION =
  'tollgate: one API in front of many AI backends, that never spends money it does not have';
const ENDING = `Every command takes --help, and --json: one line of JSON per result, and errors as {"error":{"code","message"}} on
standard error.

Exit codes: 0 done, 1 a check found something, 2 a mistake on the command line or in the configuration, 3 not found,
4 refused, 5 the store or a server that is needed is not available.`;
