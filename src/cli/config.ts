import { JSON_FLAG, printResult, type CliCommand, type CliContext, type CommandInput } from './command.ts';

export const configCommand: CliCommand = {
  name: 'config',
  usage: '[--json]',
  about: 'print every setting with its value and source. Secrets are hidden',
  flags: JSON_FLAG,
  minArguments: 0,
  run: printConfig,
};

async function printConfig(input: CommandInput, context: CliContext): Promise<number> {
  const { settings, unknown } = await context.configuration();
  const width = Math.max(...settings.map(({ name }) => name.length));
  printResult(input, context, { settings, unknown }, [
    ...settings.map(({ name, value, source }) => `${name.padEnd(width)}  ${shown(value)}  (${source})`),
    ...unknown.map(
      ({ name, meant }) =>
        `${name} is set, and Tollgate does not know it.${meant === undefined ? '' : ` Did you mean ${meant}?`}`,
    ),
  ]);
  return 0;
}

function shown(value: unknown): string {
  if (value === null) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
