import { Glob } from 'bun';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import type { RouteDeclaration } from '../console/route.ts';
import { ROUTES } from '../console/routes.ts';
import { operatorMay } from '../identity/accounts/roles.ts';
import { COMMANDS, runCli } from './cli.ts';
import type { CliContext } from './command.ts';

/**
 * The command line is an owner because of where it runs: whoever may run it has the data folder, or the address of the
 * database with the secret. So it asks for no role, and takes nothing that stands for one: no token of an operator reaches
 * anything through it.
 */

const MACHINE = 'this machine';
/** Which operations of the table each command does; or it is about the machine, which no operation is. */
const DOES: Readonly<Record<string, string | readonly string[]>> = {
  'account create': ['POST accounts', 'PUT accounts/{id}/role'],
  'account show': 'GET accounts/{id}',
  'account list': 'GET accounts',
  'account credit': ['POST accounts/{id}/credit', 'POST accounts/{id}/refund'],
  'account debit': 'POST accounts/{id}/adjust',
  'account token': 'POST accounts/{id}/token',
  'account limit': ['PATCH accounts/{id}/limits', 'PATCH accounts/{id}/spending', 'PUT accounts/{id}/tags'],
  'account group': 'PUT accounts/{id}/price-group',
  'account password': 'POST accounts/{id}/reset-password',
  'account reset-link': 'POST accounts/{id}/reset-link',
  'account role': 'PUT accounts/{id}/role',
  'account disable': 'POST accounts/{id}/disable',
  'account enable': 'POST accounts/{id}/enable',
  'account allow-cards': 'POST accounts/{id}/allow-cards',
  'account remove': 'POST accounts/{id}/remove',
  'team create': 'POST teams',
  'team list': 'GET teams',
  'team show': 'GET teams/{id}',
  'team add': 'POST teams/{id}/members',
  'team role': 'PUT teams/{team}/members/{id}/role',
  'team remove': 'POST teams/{team}/members/{id}/remove',
  'team app': [
    'POST teams/{id}/apps',
    'POST teams/{team}/apps/{id}/pause',
    'POST teams/{team}/apps/{id}/resume',
    'POST teams/{team}/apps/{id}/end',
    'POST accounts/{id}/token',
    'PATCH accounts/{id}/spending',
  ],
  'team limit': ['PATCH accounts/{id}/limits', 'PUT accounts/{id}/tags'],
  'team group': 'PUT accounts/{id}/price-group',
  'team credit': 'POST accounts/{id}/credit',
  'team close': 'POST teams/{id}/close',
  verify: 'POST ledger/verify',
  receipt: 'GET requests/{id}',
  'codes make': 'POST codes',
  margin: 'GET margin',
  reconcile: ['POST provider-bills/compare', 'POST provider-bills'],
  archive: MACHINE,
  'catalog import': ['POST catalog/import', 'POST catalog'],
  'catalog check': 'POST catalog/propose',
  'catalog publish': 'POST catalog',
  'catalog plans': ['GET catalog/plans', 'POST catalog/plans/{id}/cancel'],
  'catalog example': MACHINE,
  'catalog schema': MACHINE,
  backup: MACHINE,
  restore: MACHINE,
  move: MACHINE,
  'secret rotate': MACHINE,
  'secret reset': MACHINE,
  'metrics token': MACHINE,
  config: MACHINE,
  doctor: MACHINE,
  health: MACHINE,
};

const operations = new Map(
  (ROUTES as readonly RouteDeclaration[])
    .filter(({ who }) => who === 'operator')
    .map((route) => [route.name.replace('/api/console/admin/', ''), route]),
);

test('every command is known to be operations that an owner may do, or about the machine alone', () => {
  expect(Object.keys(DOES).sort()).toEqual(COMMANDS.map(({ name }) => name).sort());
  for (const [command, does] of Object.entries(DOES)) {
    if (does === MACHINE) continue;
    for (const name of [does].flat()) {
      const may = operations.get(name)?.may;
      expect([command, name, may !== undefined && operatorMay('owner', may)]).toEqual([command, name, true]);
    }
  }
});

/** Tokens of operators as somebody would try to give them. */
const WAYS = ['--token', '--operator-token', '--bearer', '--role'];

test('no command takes a token or a role of an operator: it is refused before anything is opened', async () => {
  const opened = (): never => {
    throw new Error('the store was opened');
  };
  const context = {
    env: {},
    withServices: opened,
    withStore: opened,
    withCatalog: opened,
    configuration: opened,
  } as unknown as CliContext;
  for (const { name, flags, minArguments } of COMMANDS)
    for (const way of WAYS) {
      // `team add` gives a member their role in the team.
      if (Object.hasOwn(flags, way.slice(2))) {
        expect([name, way]).toEqual(['team add', '--role']);
        continue;
      }
      const said: string[] = [];
      const given = Array.from({ length: minArguments }, () => 'a@example.com');
      const code = await runCli([...name.split(' '), ...given, way, 'op-a'], context, (line) =>
        said.push(line),
      );
      expect([name, way, code, said.join().includes(`There is no option '${way}'`)]).toEqual([
        name,
        way,
        2,
        true,
      ]);
    }
});

test('the command line asks nobody’s role, and writes to the audit log in one place, under the machine’s user', async () => {
  const sources = await Array.fromAsync(new Glob('*.ts').scan(import.meta.dir), async (name) => ({
    name,
    text: await Bun.file(join(import.meta.dir, name)).text(),
  }));
  const having = (words: RegExp) =>
    sources
      .filter(({ name, text }) => !name.endsWith('.test.ts') && words.test(text))
      .map(({ name }) => name);
  expect(having(/\bwriteAudit\b/)).toEqual(['audited.ts']);
  expect(having(/\b(?:ofToken|requireOperatorRight|authorization)\b/i)).toEqual([]);
});
