import { existsSync, rmSync } from 'node:fs';
import { resealResponses } from '../activity/reseal-responses.ts';
import { resealKeys } from '../catalog/provider-keys.ts';
import {
  makeNextSecret,
  openSecret,
  replaceSecret,
  secretFiles,
  metricsToken,
} from '../identity/accounts/secret.ts';
import { resealOutbox } from '../outbox/outbox.ts';
import { resealWebhooks } from '../outbox/webhooks.ts';
import { plural } from '../std/plural.ts';
import type { Store } from '../store/store.ts';
import { connectedNodes } from '../store/other-nodes.ts';
import { recordCommand } from './audited.ts';
import {
  CommandRefused,
  JSON_FLAG,
  printResult,
  UsageError,
  type CliCommand,
  type CliContext,
  type CommandInput,
} from './command.ts';

export const secretCommands: readonly CliCommand[] = [
  {
    name: 'secret rotate',
    usage: '[--json]',
    about:
      'replace the secret while the server is stopped, with TOLLGATE_NEW_SECRET or a new one in the data folder. Tokens, codes, stored keys and responses, and welcome credits stay. Everyone signs in again, and image links end',
    flags: JSON_FLAG,
    minArguments: 0,
    run: rotate,
  },
  {
    name: 'secret reset',
    usage: '--yes [--json]',
    about:
      'start over after losing the secret, with TOLLGATE_SECRET or a new one. Accounts and balances stay. Every token, code, session, stored key and stored response ends. Cannot be undone',
    flags: { ...JSON_FLAG, yes: { type: 'boolean' } },
    minArguments: 0,
    run: reset,
  },
];

async function rotate(input: CommandInput, context: CliContext): Promise<number> {
  await requireNoNodes(context);
  return await context.withServices(async ({ store, secret }) => {
    requireStopped(store);
    const next = nextSecret(context, context.env['TOLLGATE_NEW_SECRET'], 'TOLLGATE_NEW_SECRET');
    const now = context.clock.now();
    const keys = await store.db.transaction().execute(async (db) => {
      const from = secret.key('provider keys');
      await replaceSecret(db, next, { before: secret, now });
      // The keys of the new secret, as the next start will derive them.
      const after = await openSecret({ given: next, dataDir: '', shared: true, db, now });
      const resealed = await resealKeys(db, { from, to: after.key('provider keys'), now });
      await resealWebhooks(db, { from: secret.key('webhooks'), to: after.key('webhooks') });
      await resealOutbox(db, { from: secret.key('outbox'), to: after.key('outbox') });
      await resealResponses(db, { from: secret.key('responses'), to: after.key('responses') });
      await db.deleteFrom('auth_session').execute();
      const record = { action: 'secret.rotate', target: '', detail: {} };
      await recordCommand({ db }, record, { input, context });
      return resealed;
    });
    await store.durable();
    printResult(input, context, { provider_keys: keys }, [
      `The secret was replaced; tokens stay valid and ${keys} provider keys were sealed again.`,
      ...instructions(context, 'TOLLGATE_NEW_SECRET'),
    ]);
    return 0;
  });
}

async function reset(input: CommandInput, context: CliContext): Promise<number> {
  if (input.flags['yes'] !== true)
    throw new UsageError(
      'Nothing was changed. Every token and stored provider key ends; add --yes to do it.',
    );
  await requireNoNodes(context);
  return await context.withStore(async (store) => {
    requireStopped(store);
    const { current } = secretFiles(context.dataDirAsOwner());
    const given = context.env['TOLLGATE_SECRET'];
    const now = context.clock.now();
    const next = nextSecret(context, given, 'TOLLGATE_SECRET');
    const tokens = await store.db.transaction().execute(async (db) => {
      await replaceSecret(db, next, { before: undefined, now });
      const { numUpdatedRows } = await db
        .updateTable('account')
        .set({ token_hash: null, token_hint: null, token_used_at: null })
        .where('token_hash', 'is not', null)
        .executeTakeFirst();
      for (const table of ENDED_BY_RESET) await db.deleteFrom(table).execute();
      await db.updateTable('response_storage').set({ bytes: 0 }).execute();
      const record = { action: 'secret.reset', target: '', detail: {} };
      await recordCommand({ db }, record, { input, context });
      return Number(numUpdatedRows);
    });
    await store.durable();
    // A file with a secret that is no longer the store's must not be mistaken for it.
    if (!isSet(given) && existsSync(current)) rmSync(current);
    printResult(input, context, { tokens_ended: tokens }, [
      `The store has a new secret; ${plural(tokens, 'token')} ended. Give new ones with: tollgate account token EMAIL`,
      ...instructions(context, 'TOLLGATE_SECRET'),
    ]);
    return 0;
  });
}

/** Rows that cannot be read without the secret, and sessions. */
const ENDED_BY_RESET = [
  'provider_key',
  'auth_session',
  'stored_response',
  'conversation_item',
  'conversation',
] as const;

/** A server keeps the keys of its start in memory: it would make tokens that nobody can check afterwards. */
function requireStopped({ backend }: Store): void {
  if (backend.kind === 'sqlite' && !backend.claim())
    throw new CommandRefused('A server is running on this data folder. Stop it first.');
}

/** The same for the nodes on a Postgres, before this command is connected to it as they are. */
async function requireNoNodes({ env }: CliContext): Promise<void> {
  const url = env['DATABASE_URL'];
  if (!isSet(url)) return;
  const nodes = await connectedNodes(url);
  if (nodes.length > 0)
    throw new CommandRefused(
      `Nodes are running on this database, connected from ${nodes.join(', ')}. Stop them first; connections that a pooler keeps end some minutes later.`,
    );
}

function nextSecret(context: CliContext, given: string | undefined, variable: string): string {
  if (isSet(given)) return given;
  const { env } = context;
  if (isSet(env['DATABASE_URL']) || isSet(env['TOLLGATE_SECRET']))
    throw new UsageError(`Set ${variable} to the new secret, 16 characters at least.`);
  return makeNextSecret(context.dataDirAsOwner());
}

function instructions({ env }: CliContext, variable: string): string[] {
  return isSet(env[variable])
    ? ['Start every node with TOLLGATE_SECRET set to it; nodes that still run must be stopped.']
    : ['It is in the data folder. Start the server again.'];
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value.trim() !== '';
}

export const metricsCommand: CliCommand = {
  name: 'metrics token',
  usage: '[--json]',
  about: 'print the token for /metrics: TOLLGATE_METRICS_TOKEN, or the one of this installation',
  flags: JSON_FLAG,
  minArguments: 0,
  run: async (input, context) =>
    await context.withServices(({ secret }) => {
      const token = metricsToken(context.env['TOLLGATE_METRICS_TOKEN']?.trim() || undefined, secret);
      printResult(input, context, { token }, [token]);
      return Promise.resolve(0);
    }),
};
