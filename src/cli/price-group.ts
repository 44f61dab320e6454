import type { AccountId } from '../std/ids.ts';
import { requireGroup } from '../catalog/groups.ts';
import {
  JSON_FLAG,
  printResult,
  type CliCommand,
  type CliContext,
  type CliServices,
  type CommandInput,
} from './command.ts';

/** Which of the catalog's price groups a wallet is in. */
export const accountGroupCommand: CliCommand = {
  name: 'account group',
  usage: 'EMAIL NAME|none [--json]',
  about: 'set the price group of an account, from its next request on',
  flags: JSON_FLAG,
  minArguments: 2,
  audit: ({ arguments: [, group] }) => ({
    action: 'account.price-group',
    isAboutAccount: true,
    detail: { group },
  }),
  run: (input, context) => setGroup(input, context, ({ accounts }, email) => accounts.require(email)),
};

export const teamGroupCommand: CliCommand = {
  name: 'team group',
  usage: 'NAME GROUP|none [--json]',
  about: 'set the price group of a team, from its next request on',
  flags: JSON_FLAG,
  minArguments: 2,
  audit: ({ arguments: [team, group] }) => ({
    action: 'team.price-group',
    isAboutAccount: false,
    detail: { team, group },
  }),
  run: (input, context) => setGroup(input, context, ({ teams }, name) => teams.require(name)),
};

async function setGroup(
  input: CommandInput,
  context: CliContext,
  find: (
    services: CliServices,
    name: string,
  ) => Promise<{ readonly id: string; readonly price_group: string | null }>,
): Promise<number> {
  const [name = '', wanted = ''] = input.arguments;
  return await context.withServices(async (services) => {
    const { id, price_group: before } = await find(services, name);
    const group = wanted === 'none' ? null : wanted;
    if (group !== null) requireGroup(await services.catalog(), group);
    await services.accounts.setPriceGroup(id as AccountId, group);
    printResult(input, context, { wallet: id, name, price_group: group, before }, [
      group === null ? `${name} pays the list prices.` : `${name} pays the prices of the group ${group}.`,
    ]);
    return 0;
  });
}
