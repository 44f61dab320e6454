import { writeAudit } from '../activity/audit.ts';
import type { AuditedCommand, CliCommand, CliContext, CliServices, CommandInput } from './command.ts';

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
  { action, isAboutAccount, detail }: AuditedCommand,
  { input, context, services }: { input: CommandInput; context: CliContext; services: CliServices },
  work: (services: CliServices) => Promise<T>,
): Promise<T> {
  const target = isAboutAccount ? (await services.accounts.require(input.arguments[0] ?? '')).id : '';
  const entry = { actor: 'cli', target };
  await writeAudit(services.store, { ...entry, action, detail }, context.clock.now());
  try {
    return await work(services);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'internal_error';
    const refused = { ...entry, action: `${action}.refused`, detail: { code } };
    await writeAudit(services.store, refused, context.clock.now());
    throw error;
  }
}
