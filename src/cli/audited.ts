import { accountState, changesBetween, writeAudit } from '../activity/audit.ts';
import type { Store } from '../store/store.ts';
import {
  textFlag,
  type AuditedCommand,
  type CliCommand,
  type CliContext,
  type CliServices,
  type CommandInput,
} from './command.ts';

interface CommandRecord {
  readonly action: string;
  readonly target: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/**
 * What every record of the command line is written by. Who the system says has run it and who they say they are with
 * `--as` are two things: only the first is known.
 */
export async function recordCommand(
  store: Pick<Store, 'db'>,
  { action, target, detail }: CommandRecord,
  { input, context }: { input: CommandInput; context: CliContext },
): Promise<void> {
  const by = { machine_user: context.machineUser, claimed_name: textFlag(input, 'as') };
  await writeAudit(
    store,
    { actor: 'cli', action, target, detail: { ...detail, ...by } },
    context.clock.now(),
  );
}

/**
 * Makes a command that changes something leave the same record as the console does: an entry before it is done, so that
 * nothing is done without a record, and a second one if it is refused.
 */
export function auditedContext(command: CliCommand, input: CommandInput, context: CliContext): CliContext {
  const action = command.audit?.(input);
  if (action === undefined) return context;
  return {
    ...context,
    withServices: (work) =>
      context.withServices((services) => runAudited(action, { input, context, services }, work)),
  };
}

async function runAudited<T>(
  { action, isAboutAccount, aboutEmail, detail }: AuditedCommand,
  { input, context, services }: { input: CommandInput; context: CliContext; services: CliServices },
  work: (services: CliServices) => Promise<T>,
): Promise<T> {
  const email = isAboutAccount ? (input.arguments[0] ?? '') : aboutEmail;
  const target = email === undefined ? '' : (await services.accounts.require(email)).id;
  const by = { input, context };
  await recordCommand(services.store, { action, target, detail }, by);
  const before = target === '' ? {} : await accountState(services, target);
  try {
    const result = await work(services);
    const changes = target === '' ? undefined : changesBetween(before, await accountState(services, target));
    if (changes)
      await recordCommand(services.store, { action: `${action}.changed`, target, detail: changes }, by);
    return result;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'internal_error';
    await recordCommand(services.store, { action: `${action}.refused`, target, detail: { code } }, by);
    throw error;
  }
}
