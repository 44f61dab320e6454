import { type CliContext, type Command, type CommandInput } from './command.ts';

const JSON_FLAG = { json: { type: 'boolean' } } as const;

export const bookCommands: readonly Command[] = [
  {
    name: 'verify',
    usage: '[--json]',
    about: 'check every invariant of the books; exit code 1 on a breach',
    flags: JSON_FLAG,
    least: 0,
    run: verify,
  },
];

async function verify(input: CommandInput, context: CliContext): Promise<number> {
  return await context.withServices(async ({ ledger }) => {
    const { checked, breaches } = await ledger.verify();
    const ok = breaches.length === 0;
    if (input.flags['json'] === true) {
      context.print(JSON.stringify({ ok, checked, breaches }));
    } else {
      context.print(`${checked.accounts} accounts, ${checked.entries} entries, ${checked.requests} requests`);
      for (const { invariant, subject, detail } of breaches)
        context.print(`${invariant} ${subject}: ${detail}`);
      context.print(ok ? 'The books are right.' : `${breaches.length} breaches`);
    }
    return ok ? 0 : 1;
  });
}
