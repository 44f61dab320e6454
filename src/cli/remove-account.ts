import { writeAudit } from '../activity/audit.ts';
import { removeAccount } from '../identity/accounts/removal.ts';
import { formatUsd, nanoUsd, toUsdNumber } from '../std/money.ts';
import {
  JSON_FLAG,
  printResult,
  textFlag,
  UsageError,
  type CliCommand,
  type CliContext,
  type CommandInput,
} from './command.ts';

export const removeAccountCommand: CliCommand = {
  name: 'account remove',
  usage: 'EMAIL --yes [--reason TEXT] [--json]',
  about:
    'remove whoever an account belongs to: address, token, sign-in, images. Its books stay under its id; a balance is written off with --reason. Cannot be undone',
  flags: { ...JSON_FLAG, yes: { type: 'boolean' }, reason: { type: 'string' } },
  minArguments: 1,
  run: remove,
};

async function remove(input: CommandInput, context: CliContext): Promise<number> {
  const [email = ''] = input.arguments;
  return await context.withServices(async ({ accounts, store, ledger, images }) => {
    const { id } = await accounts.require(email);
    if (input.flags['yes'] !== true)
      throw new UsageError(`Nothing was removed. ${email} is ${id}; add --yes to remove it for good.`);
    const { clock } = context;
    const removal = { accountId: id, reason: textFlag(input, 'reason'), actor: 'cli' };
    const { writtenOff } = await removeAccount({ store, ledger, clock, images }, removal);
    const detail = { reason: removal.reason, written_off: writtenOff };
    await writeAudit(store, { actor: 'cli', action: 'account.remove', target: id, detail }, clock.now());
    const amount = nanoUsd(writtenOff);
    printResult(input, context, { account: id, written_off_usd: toUsdNumber(amount) }, [
      `${email} was removed. Its books stay under ${id}.`,
      ...(writtenOff > 0 ? [`$${formatUsd(amount)} were written off.`] : []),
    ]);
    return 0;
  });
}
