import { recordCommand } from './audited.ts';
import { makePasswords } from '../identity/sign-in/password.ts';
import { makeResetLinks, RESET_LIFE_MS, resetPath } from '../identity/sign-in/reset.ts';
import {
  JSON_FLAG,
  printResult,
  textFlag,
  UsageError,
  type CliContext,
  type CliCommand,
  type CommandInput,
} from './command.ts';

export const resetLinkCommand: CliCommand = {
  name: 'account reset-link',
  usage: 'EMAIL [--hours N] [--url https://console.example] [--json]',
  about: 'create a link to set a new password. It works once',
  flags: { ...JSON_FLAG, hours: { type: 'string' }, url: { type: 'string' } },
  minArguments: 1,
  run: resetLink,
};

const HOUR_MS = 3_600_000;
const MAX_HOURS = 72;

async function resetLink(input: CommandInput, context: CliContext): Promise<number> {
  const lifeMs = readLifetimeMs(textFlag(input, 'hours'));
  const base = consoleUrl(textFlag(input, 'url'), context);
  return await context.withServices(async ({ store, accounts }) => {
    const { clock } = context;
    const { id, email } = await accounts.require(input.arguments[0] ?? '');
    const links = makeResetLinks({ store, clock, passwords: makePasswords() });
    const { token, expiresAt } = await links.make({ accountId: id, createdBy: 'cli', lifeMs }, async (tx) => {
      const record = { action: 'account.reset-link', target: id, detail: {} };
      await recordCommand({ db: tx }, record, { input, context });
    });
    const link = `${base}${resetPath(token)}`;
    const until = new Date(expiresAt).toISOString();
    printResult(input, context, { account: id, email, link, expires_at: until }, [
      link,
      `Send it to ${email}. It works once, until ${until}; earlier links no longer work.`,
      ...(textFlag(input, 'url') === undefined && context.address.publicUrl === undefined
        ? [
            `If the console is reached at another address than ${base}, pass that address with --url, or set TOLLGATE_PUBLIC_URL.`,
          ]
        : []),
    ]);
    return 0;
  });
}

function readLifetimeMs(hours: string | undefined): number {
  if (hours === undefined) return RESET_LIFE_MS;
  const count = Number(hours);
  if (!Number.isInteger(count) || count < 1 || count > MAX_HOURS)
    throw new UsageError(`--hours takes a whole number from 1 to ${MAX_HOURS}.`);
  return count * HOUR_MS;
}

/** The console's address: from `--url`, as the operator configured it, or where the server of this environment listens. */
function consoleUrl(urlFlag: string | undefined, { address }: CliContext): string {
  if (urlFlag === undefined)
    return address.publicUrl ?? `http://${reachableHost(address.host)}:${address.port}`;
  const url = URL.canParse(urlFlag) ? new URL(urlFlag) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search || url.hash)
    throw new UsageError(`--url takes the address of the console, such as https://console.example.`);
  return url.origin;
}

/** A server that listens on all addresses can be reached on loopback. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
