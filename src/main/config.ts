import { existsSync } from 'node:fs';
import { readMailAddress, type MailConfig } from '../outbox/mail-channel.ts';
import type { S3Settings } from '../store/image-s3.ts';
import { LOG_LEVELS, type LogLevel } from '../std/log.ts';
import { SettingError } from '../std/startup-error.ts';
import { ENVIRONMENT, readAddress, readText, readWholeNumber, type Env } from './environment.ts';
import type { TelemetrySettings } from '../telemetry/open-telemetry.ts';
import { passesTrace, readTelemetry } from './telemetry-settings.ts';
import { WORKER_VARIABLE } from './workers.ts';

/** The settings in the environment, read once. Everything else is configured in the catalog file or the store. */
export interface Config {
  /** The operator's catalog file; without one, the catalog is in the store. */
  readonly catalogPath: string | undefined;
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  /** Where customers reach this server; absent, links use the address that a request was sent to. */
  readonly publicUrl: string | undefined;
  readonly databaseUrl: string | undefined;
  readonly secret: string | undefined;
  /** How long requests are still served after SIGTERM, while `/readyz` already says no. */
  readonly drainMs: number;
  /** How long streams may continue after that. */
  readonly graceMs: number;
  /** How long a hold outlives the node that made it; a running node renews it several times in that time. */
  readonly leaseMs: number;
  /** How long a request waits for Postgres before it is refused. */
  readonly databaseDeadlineMs: number;
  /** How long a Postgres that does not answer yet is waited for at the start. */
  readonly databaseWaitMs: number;
  /** How many connections to Postgres one process may open. */
  readonly databaseConnections: number;
  /** What the generated images of one account may occupy. */
  readonly imageQuotaBytes: number;
  /** Members and apps of one team. */
  readonly teamAccounts: number;
  /** Where new images go, if not to the data folder or the database. */
  readonly imageBucket: S3Settings | undefined;
  /** How long a request waits for the count of a short input; longer ones wait 150 ms more for each megabyte. */
  readonly countWaitMs: number;
  readonly commentMs: number;
  /** Requests that may be under way in this process; fewer where it may not open enough files for them. */
  readonly maxInFlight: number;
  /** Image jobs that may run in this process. */
  readonly maxImageJobs: number;
  /** New requests are refused while the event loop is later than this, several times in a row. */
  readonly maxDelayMs: number;
  /** The least important lines that are logged, unless the catalog file says so. */
  readonly logLevel: LogLevel;
  /** The share of requests that leave a line in the access log, unless the catalog file says so. */
  readonly accessShare: number;
  /** The token that lets a monitoring system read `/metrics`; absent, it is derived from the secret. */
  readonly metricsToken: string | undefined;
  /** Where the metrics are served to everybody who can reach it. */
  readonly metricsAddress: ListenAddress | undefined;
  /** Where spans and metrics are sent by OpenTelemetry; absent: nowhere. */
  readonly telemetry: TelemetrySettings | undefined;
  /** Whether a client's trace is taken over and passed on to backends. */
  readonly passesTrace: boolean;
  /** How mail is sent; absent: no mail is sent. */
  readonly mail: MailConfig | undefined;
  /** Whether the operator's own webhooks may go to private addresses. */
  readonly operatorWebhooksMayBePrivate: boolean;
  /** Payments by card; absent while the keys are not set. */
  readonly stripe: StripeKeys | undefined;
  /** The number of processes on this machine that share the port; more than one needs Postgres. */
  readonly workers: number;
  /** The index of this process among the workers; `undefined` when it is the only process. */
  readonly worker: number | undefined;
  readonly env: Env;
}

interface StripeKeys {
  readonly secretKey: string;
  readonly webhookSecret: string;
  readonly address: string | undefined;
}

interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

const DEFAULT_FILE = 'tollgate.yaml';
const MEGABYTE = 1_048_576;

export function readConfig(env: Env): Config {
  return {
    catalogPath: readText(env, 'TOLLGATE_CONFIG') ?? (existsSync(DEFAULT_FILE) ? DEFAULT_FILE : undefined),
    dataDir: readText(env, 'TOLLGATE_DATA') ?? ENVIRONMENT.TOLLGATE_DATA.fallback,
    host: readText(env, 'TOLLGATE_HOST') ?? ENVIRONMENT.TOLLGATE_HOST.fallback,
    port: readWholeNumber(env, 'TOLLGATE_PORT'),
    publicUrl: readAddress(env, 'TOLLGATE_PUBLIC_URL'),
    databaseUrl: readText(env, 'DATABASE_URL'),
    secret: readText(env, 'TOLLGATE_SECRET'),
    drainMs: readWholeNumber(env, 'TOLLGATE_DRAIN_SECONDS') * 1000,
    graceMs: readWholeNumber(env, 'TOLLGATE_GRACE_SECONDS') * 1000,
    leaseMs: readWholeNumber(env, 'TOLLGATE_LEASE_SECONDS') * 1000,
    databaseDeadlineMs: readWholeNumber(env, 'TOLLGATE_DATABASE_DEADLINE_MS'),
    databaseWaitMs: readWholeNumber(env, 'TOLLGATE_DATABASE_WAIT_SECONDS') * 1000,
    databaseConnections: readWholeNumber(env, 'TOLLGATE_DATABASE_CONNECTIONS'),
    imageQuotaBytes: readWholeNumber(env, 'TOLLGATE_IMAGE_QUOTA_MB') * MEGABYTE,
    teamAccounts: readWholeNumber(env, 'TOLLGATE_TEAM_ACCOUNTS'),
    imageBucket: readImageBucket(env),
    countWaitMs: readWholeNumber(env, 'TOLLGATE_COUNT_WAIT_MS'),
    commentMs: readWholeNumber(env, 'TOLLGATE_COMMENT_MS'),
    maxInFlight: readWholeNumber(env, 'TOLLGATE_MAX_IN_FLIGHT'),
    maxImageJobs: readWholeNumber(env, 'TOLLGATE_MAX_IMAGE_JOBS'),
    maxDelayMs: readWholeNumber(env, 'TOLLGATE_MAX_DELAY_MS'),
    logLevel: readLogLevel(env),
    accessShare: readAccessShare(env),
    metricsToken: readMetricsToken(env),
    metricsAddress: readMetricsAddress(env),
    telemetry: readTelemetry(env),
    passesTrace: passesTrace(env),
    mail: readMail(env),
    operatorWebhooksMayBePrivate: readYesNo(env, 'TOLLGATE_WEBHOOKS_PRIVATE'),
    stripe: readStripe(env),
    workers: readWorkers(env),
    worker: readText(env, WORKER_VARIABLE) === undefined ? undefined : readWholeNumber(env, WORKER_VARIABLE),
    env,
  };
}

function readLogLevel(env: Env): LogLevel {
  const text = readText(env, 'TOLLGATE_LOG_LEVEL') ?? ENVIRONMENT.TOLLGATE_LOG_LEVEL.fallback;
  const level = LOG_LEVELS.find((one) => one === text);
  if (level !== undefined) return level;
  throw new SettingError(`TOLLGATE_LOG_LEVEL must be ${LOG_LEVELS.join(', ')}, not '${text}'.`);
}

function readAccessShare(env: Env): number {
  const text = readText(env, 'TOLLGATE_ACCESS_LOG') ?? ENVIRONMENT.TOLLGATE_ACCESS_LOG.fallback;
  if (text === 'off') return 0;
  if (text === 'json') return 1;
  const share = Number(text);
  if (share >= 0 && share <= 1) return share;
  throw new SettingError(`TOLLGATE_ACCESS_LOG must be off, json, or a share from 0 to 1, not '${text}'.`);
}

const LEAST_TOKEN = 16;

function readMetricsToken(env: Env): string | undefined {
  const token = readText(env, 'TOLLGATE_METRICS_TOKEN');
  if (token === undefined || (token.length >= LEAST_TOKEN && /^[!-~]+$/.test(token))) return token;
  throw new SettingError(
    `TOLLGATE_METRICS_TOKEN must have at least ${LEAST_TOKEN} characters and no white space.`,
  );
}

function readMetricsAddress(env: Env): ListenAddress | undefined {
  const text = readText(env, 'TOLLGATE_METRICS_ADDRESS');
  if (text === undefined) return undefined;
  const [, host = '', digits] =
    /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text)?.filter((part) => part !== undefined) ?? [];
  const port = Number(digits);
  if (host !== '' && port <= 65_535) return { host, port };
  throw new SettingError(
    `TOLLGATE_METRICS_ADDRESS must be an address and a port, such as 10.0.0.11:9700, not '${text}'.`,
  );
}

function readMail(env: Env): MailConfig | undefined {
  const smtpUrl = readText(env, 'TOLLGATE_SMTP_URL')?.trim();
  if (smtpUrl === undefined) return undefined;
  const url = URL.canParse(smtpUrl) ? new URL(smtpUrl) : undefined;
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '')
    throw new SettingError('TOLLGATE_SMTP_URL must be an address such as smtp://user:password@host:587.');
  const from = readMailAddress(readText(env, 'TOLLGATE_MAIL_FROM') ?? '');
  if (!from)
    throw new SettingError(
      'TOLLGATE_SMTP_URL needs TOLLGATE_MAIL_FROM, such as name@example.com or Name <name@example.com>.',
    );
  // A client chooses the address that it sends a request to, so no link in a mail may be made from it.
  if (readAddress(env, 'TOLLGATE_PUBLIC_URL') === undefined)
    throw new SettingError('TOLLGATE_SMTP_URL needs TOLLGATE_PUBLIC_URL, for the links in mails.');
  return { smtpUrl, from };
}

function readYesNo(env: Env, name: 'TOLLGATE_WEBHOOKS_PRIVATE'): boolean {
  const text = readText(env, name) ?? ENVIRONMENT[name].fallback;
  if (text === 'yes' || text === 'no') return text === 'yes';
  throw new SettingError(`${name} must be yes or no, not '${text}'.`);
}

/** One key without the other would take money that is never credited. */
function readStripe(env: Env): StripeKeys | undefined {
  const secretKey = readText(env, 'TOLLGATE_STRIPE_SECRET_KEY');
  const webhookSecret = readText(env, 'TOLLGATE_STRIPE_WEBHOOK_SECRET');
  if (secretKey === undefined && webhookSecret === undefined) return undefined;
  if (secretKey === undefined || webhookSecret === undefined)
    throw new SettingError(
      'TOLLGATE_STRIPE_SECRET_KEY and TOLLGATE_STRIPE_WEBHOOK_SECRET are set together or not at all.',
    );
  if (!/^(sk|rk)_/.test(secretKey))
    throw new SettingError(
      'TOLLGATE_STRIPE_SECRET_KEY must be a secret key of Stripe: it begins with sk_ or rk_.',
    );
  if (!webhookSecret.startsWith('whsec_'))
    throw new SettingError(
      'TOLLGATE_STRIPE_WEBHOOK_SECRET must be the signing secret of a webhook: it begins with whsec_.',
    );
  return { secretKey, webhookSecret, address: readAddress(env, 'TOLLGATE_STRIPE_ADDRESS') };
}

/** With a part of these missing, images would go elsewhere than the operator thinks. */
function readImageBucket(env: Env): S3Settings | undefined {
  const bucket = readText(env, 'TOLLGATE_S3_BUCKET');
  const accessKeyId = readText(env, 'TOLLGATE_S3_ACCESS_KEY_ID');
  const secretAccessKey = readText(env, 'TOLLGATE_S3_SECRET_ACCESS_KEY');
  const endpoint = readAddress(env, 'TOLLGATE_S3_ENDPOINT');
  const deadlineMs = readWholeNumber(env, 'TOLLGATE_S3_DEADLINE_MS');
  if (bucket === undefined && accessKeyId === undefined && secretAccessKey === undefined) return undefined;
  if (bucket === undefined || accessKeyId === undefined || secretAccessKey === undefined)
    throw new SettingError(
      'TOLLGATE_S3_BUCKET, TOLLGATE_S3_ACCESS_KEY_ID and TOLLGATE_S3_SECRET_ACCESS_KEY are set together or not at all.',
    );
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
    throw new SettingError(
      `TOLLGATE_S3_BUCKET must be the name of a bucket: 3 to 63 small letters, digits, dots and hyphens, not '${bucket}'.`,
    );
  const region = readText(env, 'TOLLGATE_S3_REGION') ?? ENVIRONMENT.TOLLGATE_S3_REGION.fallback;
  return { bucket, endpoint, region, accessKeyId, secretAccessKey, deadlineMs };
}

function readWorkers(env: Env): number {
  const count = readWholeNumber(env, 'TOLLGATE_WORKERS');
  if (count === 1) return count;
  if (readText(env, 'DATABASE_URL') === undefined)
    throw new SettingError('TOLLGATE_WORKERS needs DATABASE_URL: a SQLite file is written by one process.');
  if (readWholeNumber(env, 'TOLLGATE_PORT') === 0)
    throw new SettingError('TOLLGATE_WORKERS needs a TOLLGATE_PORT: the workers listen on the same one.');
  return count;
}
