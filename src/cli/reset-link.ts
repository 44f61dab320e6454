import { writeAudit } from '../activity/audit.ts';
import { makePasswords } from '../identity/sign-in/password.ts';
import { makeResetLinks, RESET_LIFE_MS, resetPath } from '../identity/sign-in/reset.ts';
import {
  JSON_FLAG,
  tell,
  textFlag,
  UsageError,
  type CliContext,
  type CliCommand,
  type CommandInput,
} from './command.ts';

export const resetLinkCommand: CliCommand = {
  name: 'account reset-link',
  usage: 'EMAIL [--hours N] [--url https://console.example] [--json]',
  about: 'make a link with which somebody who forgot their password chooses a new one, once',
  flags: { ...JSON_FLAG, hours: { type: 'string' }, url: { type: 'string' } },
  least: 1,
  run: resetLink,
};

const HOUR_MS = 3_600_000;
const MOST_HOURS = 72;

async function resetLink(input: CommandInput, context: CliContext): Promise<number> {
  const lifeMs = lifeOf(textFlag(input, 'hours'));
  const base = baseOf(textFlag(input, 'url'), context.env);
  return await context.withServices(async ({ store, accounts }) => {
    const { clock } = context;
    const { id, email } = await accounts.require(input.arguments[0] ?? '');
    const links = makeResetLinks({ store, clock, passwords: makePasswords() });
    const { token, expiresAt } = await links.make({ accountId: id, createdBy: 'cli', lifeMs }, async (tx) => {
      const entry = { actor: 'cli', action: 'account.reset-link', target: id, detail: {} };
      await writeAudit({ db: tx }, entry, clock.now());
    });
    const link = `${base}${resetPath(token)}`;
    const until = new Date(expiresAt).toISOString();
    tell(input, context, { account: id, email, link, expires_at: until }, [
      link,
      `Send it to ${email}. It works once, until ${until}; any link made before is refused from now on.`,
      ...(textFlag(input, 'url') === undefined
        ? [`If people open the console under another address than ${base}, give it with --url.`]
        : []),
    ]);
    return 0;
  });
}

function lifeOf(hours: string | undefined): number {
  if (hours === undefined) return RESET_LIFE_MS;
  const count = Number(hours);
  if (!Number.isInteger(count) || count < 1 || count > MOST_HOURS)
    throw new UsageError(`--hours takes a whole number from 1 to ${MOST_HOURS}.`);
  return count * HOUR_MS;
}

/** Where the console is: as given, or where the server of this environment listens. */
function baseOf(given: string | undefined, env: CliContext['env']): string {
  if (given === undefined) return `http://${hostOf(env['TOLLGATE_HOST'])}:${env['TOLLGATE_PORT'] || 8700}`;
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search || url.hash)
    throw new UsageError(`--url takes the address of the console, such as https://console.example.`);
  return url.origin;
}

/** A server that listens everywhere is found on this machine too. */
function hostOf(host: string | undefined): string {
  if (!host || host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
