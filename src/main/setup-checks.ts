import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { checkMailServer } from '../outbox/mail-channel.ts';
import type { CheckResult } from '../cli/command.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import { plural } from '../std/plural.ts';
import { StartupError } from '../std/startup-error.ts';
import type { Config } from './config.ts';
import { checkDataFolder, checkDiskSpace } from './data-folder.ts';
import { unknownVariables } from './environment.ts';
import { checkTls, listensLocally, type ServerSettings } from './server-settings.ts';

/** What is checked about the set-up of a server. */
export interface SetupSubject {
  readonly config: Config;
  /** Absent where the catalog cannot be read. */
  readonly settings: Pick<ServerSettings, 'tls' | 'trustedProxies'> | undefined;
  readonly clock: Clock;
  /** How far the machine's clock is ahead of the database's; absent where the database cannot be used. */
  readonly aheadMs: number | undefined;
}

type SetupCheck = (subject: SetupSubject) => CheckResult | undefined | Promise<CheckResult | undefined>;

const TIMEOUT_MS = 10_000;

/**
 * Everything about a set-up that can be wrong although the server starts: the one list for `tollgate doctor`, the log and
 * the metric, which has these names. A check has no result where there is nothing to check.
 */
const SETUP_CHECKS: Readonly<Record<string, SetupCheck>> = {
  data_folder: ({ config }) => checkDataFolder(config.dataDir),
  disk: ({ config }) => checkDiskSpace(config.dataDir),
  settings: ({ config }) => checkNames(config),
  certificate: ({ config, settings, clock }) =>
    settings && checkTls(settings.tls, { host: config.host, now: clock.now() }),
  clock: checkClock,
  listening: checkListening,
  public_address: ({ config }) => checkPublicAddress(config),
  mail: ({ config }) => config.mail && checkMailServer(config.mail, TIMEOUT_MS),
  payments: checkPayments,
};

/** All at once; what has no result is left out. */
export async function runSetupChecks(subject: SetupSubject): Promise<readonly CheckResult[]> {
  const results = await Promise.all(Object.keys(SETUP_CHECKS).map((check) => runCheck(check, subject)));
  return results.filter((result) => result !== undefined);
}

/** A check that throws has failed. */
async function runCheck(check: string, subject: SetupSubject): Promise<CheckResult | undefined> {
  try {
    return await SETUP_CHECKS[check]?.(subject);
  } catch (error) {
    return { ok: false, line: `${check.replaceAll('_', ' ')}: ${reasonOf(error)}` };
  }
}

function checkNames({ env }: Config): CheckResult | undefined {
  const unknown = unknownVariables(env);
  if (unknown.length === 0) return undefined;
  const named = unknown.map(({ name, meant }) => (meant === undefined ? name : `${name} (${meant}?)`));
  return { ok: false, line: `settings: set, and not known: ${named.join(', ')}` };
}

const NOTED_AHEAD_MS = 2_000;
/** A server does not start beyond this. */
const MAX_AHEAD_MS = 60_000;

function checkClock({ config: { databaseUrl }, aheadMs }: SetupSubject): CheckResult | undefined {
  if (databaseUrl === undefined || aheadMs === undefined) return undefined;
  if (Math.abs(aheadMs) <= NOTED_AHEAD_MS)
    return { ok: true, line: `clock: within ${NOTED_AHEAD_MS / 1000} seconds of the database's` };
  return { ok: false, line: `clock: ${clockDifference(aheadMs)}` };
}

function clockDifference(aheadMs: number): string {
  const seconds = plural(Math.round(Math.abs(aheadMs) / 1000), 'second');
  return `this machine is ${seconds} ${aheadMs > 0 ? 'ahead of' : 'behind'} the database; set the clocks of both by a time server`;
}

/** Times are corrected by the difference, but not one that is a mistake: one of the clocks must be set first. */
export function requireClock(aheadMs: number): void {
  if (Math.abs(aheadMs) > MAX_AHEAD_MS)
    throw new StartupError(`The clock is wrong: ${clockDifference(aheadMs)}.`);
}

/** Whoever comes without TLS and through no trusted proxy is refused on any address but loopback. */
function checkListening({ config: { host }, settings }: SetupSubject): CheckResult | undefined {
  if (!settings || settings.tls !== undefined || settings.trustedProxies.length > 0 || listensLocally(host))
    return undefined;
  return {
    ok: false,
    line: `listening: ${host} without TLS and without a trusted proxy, so requests of other machines are refused. Set tls, or trusted_proxies to the proxy in front.`,
  };
}

async function checkPublicAddress({ publicUrl }: Config): Promise<CheckResult | undefined> {
  if (publicUrl === undefined) return undefined;
  const host = new URL(publicUrl).hostname.replaceAll(/[[\]]/g, '');
  if (isIP(host) !== 0) return { ok: true, line: `public address: ${publicUrl}` };
  try {
    const { address } = await within(lookup(host));
    return { ok: true, line: `public address: ${publicUrl}, which is ${address}` };
  } catch (error) {
    return {
      ok: false,
      line: `public address: ${host} of TOLLGATE_PUBLIC_URL cannot be resolved (${reasonOf(error)})`,
    };
  }
}

/** Reads the list of events, which a server reads every thirty seconds to miss none. */
async function checkPayments({ config: { stripe }, clock }: SetupSubject): Promise<CheckResult | undefined> {
  if (!stripe) return undefined;
  const { StripeProvider } = await import('../payments/stripe/stripe-provider.ts');
  const provider = new StripeProvider({ ...stripe, now: () => clock.now() });
  const where = stripe.address ?? 'Stripe';
  try {
    const events = provider.eventsSince(Math.floor(clock.now() / 1000))[Symbol.asyncIterator]();
    await within(events.next());
    return { ok: true, line: `payments: ${where} accepts the key` };
  } catch (error) {
    return { ok: false, line: `payments: ${where}: ${reasonOf(error)}` };
  }
}

async function within<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`no answer within ${TIMEOUT_MS / 1000} seconds`)),
    TIMEOUT_MS,
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The same checks while a server runs: a problem is in the log when it is found and when its text changes. */
export class SetupWatch {
  readonly #subject: () => SetupSubject;
  readonly #log: Log;
  readonly #problems = new Map<string, string | undefined>();

  constructor(subject: () => SetupSubject, log: Log) {
    this.#subject = subject;
    this.#log = log;
  }

  async check(): Promise<void> {
    const subject = this.#subject();
    await Promise.all(Object.keys(SETUP_CHECKS).map((check) => this.#checkOne(check, subject)));
  }

  async #checkOne(check: string, subject: SetupSubject): Promise<void> {
    const result = await runCheck(check, subject);
    const before = this.#problems.get(check);
    const problem = result?.ok === false ? result.line : undefined;
    this.#problems.set(check, problem);
    if (problem !== undefined && problem !== before) this.#log.warn('setup_problem', { check, problem });
    if (problem === undefined && before !== undefined) this.#log.info('setup_problem_solved', { check });
  }

  /** For the metric: 1 for each check that found a problem. */
  problems(): Readonly<Record<string, number>> {
    return Object.fromEntries(
      Object.keys(SETUP_CHECKS).map((check) => [check, this.#problems.get(check) === undefined ? 0 : 1]),
    );
  }
}
