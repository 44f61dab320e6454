import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { DAY_MS } from '../std/calendar.ts';
import type { Catalog, CatalogSource } from '../catalog/catalog.ts';
import type { FileSettings } from '../catalog/file-schema.ts';
import { strict } from '../catalog/strict.ts';
import type { CheckResult } from '../cli/command.ts';
import { readTlsFiles, type TlsConfig } from '../http/tls.ts';
import { isLoopback } from '../std/addresses.ts';
import { LOG_LEVELS, setLogLevel, type Log, type LogLevel } from '../std/log.ts';
import { plural } from '../std/plural.ts';
import { StartupError } from '../std/startup-error.ts';
import type { Config } from './config.ts';

/**
 * How the server listens and which proxies it trusts: in the same file as the catalog, but not part of what is sold.
 */
export interface ServerSettings {
  /** Absent: plain HTTP, and a proxy in front may serve HTTPS. */
  readonly tls: TlsConfig | undefined;
  /** Addresses and CIDR ranges whose `x-forwarded-*` headers are trusted. */
  readonly trustedProxies: readonly string[];
  /** For how many days each receipt is kept. Absent: for ever. */
  readonly receiptsDays: number | undefined;
  readonly responses: ResponseSettings;
  /** The least important lines that are logged. Absent: as the environment says. */
  readonly logLevel: LogLevel | undefined;
  /** The share of requests that leave a line when they have been answered. Absent: as the environment says. */
  readonly accessShare: number | undefined;
}

/** What is kept for clients of the Responses API. */
interface ResponseSettings {
  /** Absent: as the store was made. */
  readonly keepHours: number | undefined;
  readonly keepGigabytes: number;
}

const path = z.string().trim().min(1, 'must not be empty').max(500, 'must be at most 500 characters');
const tlsSchema = z
  .union([z.literal('self-signed'), strict({ cert: path, key: path })], {
    error: 'must be self-signed, or { cert, key } with the paths of two PEM files',
  })
  .optional()
  .describe('Serve HTTPS with these PEM files, or with a certificate made at start.');
const proxiesSchema = z
  .array(z.string().refine(isAddressRange, 'must be an address or a range, such as 10.0.0.0/8'))
  .max(200)
  .default([])
  .describe('Proxies whose x-forwarded-for and x-forwarded-proto are believed.');

const LEAST_RECEIPTS_DAYS = 35;
const MAX_RECEIPTS_DAYS = 36_500;
const daysError = `must be a whole number from ${LEAST_RECEIPTS_DAYS} to ${MAX_RECEIPTS_DAYS}`;
const retentionSchema = strict({
  receipts_days: z
    .int({ error: daysError })
    .min(LEAST_RECEIPTS_DAYS, daysError)
    .max(MAX_RECEIPTS_DAYS, daysError)
    .optional()
    .describe(
      'How many days receipts are kept; for ever when absent. Older ones leave by whole days of an account, as one charge of their sum. This month and the last one always stay.',
    ),
})
  .optional()
  .describe('What is deleted after some time.');

const MOST_KEEP_HOURS = 8_760;
const hoursError = `must be a whole number from 0 to ${MOST_KEEP_HOURS}`;
const responsesSchema = strict({
  keep_hours: z
    .int({ error: hoursError })
    .min(0, hoursError)
    .max(MOST_KEEP_HOURS, hoursError)
    .optional()
    .describe(
      'How long what clients of the Responses API store is kept; 0 keeps nothing. When absent 24, and 0 in a store that a version without it has made.',
    ),
  keep_gb: z
    .number()
    .positive()
    .max(100_000)
    .default(5)
    .describe('How much of it is kept of all accounts together, in gigabytes; the oldest leave.'),
})
  .optional()
  .describe('What is stored for clients of the Responses API, encrypted.');

const logSchema = strict({
  level: z
    .enum(LOG_LEVELS)
    .optional()
    .describe('The least important lines that are logged; info when absent.'),
  access: z
    .union([z.enum(['off', 'json']), strict({ sample: z.number().min(0).max(1) })], {
      error: 'must be off, json, or { sample } with a number from 0 to 1',
    })
    .optional()
    .describe('One line for each answered request, or for this share of them; off when absent.'),
})
  .optional()
  .describe('What is logged on standard error.');

export const SERVER_SETTINGS = {
  tls: { label: 'tls', schema: tlsSchema },
  trusted_proxies: { label: 'trusted proxies', schema: proxiesSchema },
  retention: { label: 'retention', schema: retentionSchema },
  responses: { label: 'responses', schema: responsesSchema },
  log: { label: 'log', schema: logSchema },
} satisfies FileSettings;

/** Paths in the file are relative to the file; without one, to where the program was started. */
export function settingsFolder(catalogPath: string | undefined): string {
  return catalogPath === undefined ? '.' : dirname(catalogPath);
}

/** `folder`: where relative paths begin. */
export function serverSettings({ settings }: Catalog, folder: string): ServerSettings {
  const tls = tlsSchema.parse(settings?.get('tls')?.value);
  const log = logSchema.parse(settings?.get('log')?.value);
  return {
    tls: tls === undefined ? undefined : tlsConfig(tls, folder),
    trustedProxies: proxiesSchema.parse(settings?.get('trusted_proxies')?.value),
    receiptsDays: retentionSchema.parse(settings?.get('retention')?.value)?.receipts_days,
    responses: responseSettings(settings?.get('responses')?.value),
    logLevel: log?.level,
    accessShare: log?.access === undefined ? undefined : shareOf(log.access),
  };
}

function responseSettings(value: unknown): ResponseSettings {
  const { keep_hours: keepHours, keep_gb: keepGigabytes } = responsesSchema.parse(value ?? {}) ?? {};
  return { keepHours, keepGigabytes: keepGigabytes ?? 0 };
}

function shareOf(access: 'off' | 'json' | { readonly sample: number }): number {
  if (typeof access === 'object') return access.sample;
  return access === 'json' ? 1 : 0;
}

function tlsConfig(tls: NonNullable<z.output<typeof tlsSchema>>, folder: string): TlsConfig {
  if (tls === 'self-signed') return { kind: 'self-signed' };
  return { kind: 'files', cert: resolve(folder, tls.cert), key: resolve(folder, tls.key) };
}

type LogConfig = Pick<Config, 'catalogPath' | 'logLevel' | 'accessShare'>;

/** The settings of the newest file, except that TLS stays on or off as it was at the start. */
export class LiveServerSettings {
  readonly atStart: ServerSettings;
  readonly #newest: () => ServerSettings;
  readonly #config: LogConfig;

  constructor(catalog: Pick<CatalogSource, 'current' | 'onChange'>, config: LogConfig, log: Log) {
    const folder = settingsFolder(config.catalogPath);
    this.#config = config;
    this.#newest = () => serverSettings(catalog.current(), folder);
    this.atStart = this.#newest();
    setLogLevel(this.atStart.logLevel ?? config.logLevel);
    catalog.onChange(() => {
      setLogLevel(this.#newest().logLevel ?? config.logLevel);
      const settings = this.restartNeeded();
      if (settings.length > 0) log.warn('restart_needed', { settings });
    });
  }

  trustedProxies(): readonly string[] {
    return this.#newest().trustedProxies;
  }

  tls(): TlsConfig | undefined {
    return this.#newest().tls;
  }

  receiptsDays(): number | undefined {
    return this.#newest().receiptsDays;
  }

  responses(): ResponseSettings {
    return this.#newest().responses;
  }

  accessShare(): number {
    return this.#newest().accessShare ?? this.#config.accessShare;
  }

  /** Keys of the file whose new value applies only after a restart. */
  restartNeeded(): readonly string[] {
    return (this.#newest().tls === undefined) === (this.atStart.tls === undefined) ? [] : ['tls'];
  }
}

/** How long before its end a certificate is reported as a problem. */
const RENEWAL_DAYS = 14;

/** Whether no other machine reaches a server that listens there. */
export function listensLocally(host: string): boolean {
  return host === 'localhost' || isLoopback(host);
}

/** Whether the server could serve HTTPS as the settings say, and for how long. */
export function checkTls(
  tls: TlsConfig | undefined,
  { host, now }: { host: string; now: number },
): CheckResult {
  if (tls === undefined) {
    const line = listensLocally(host)
      ? 'tls: off, which is right on loopback'
      : `tls: off; on ${host} only a trusted proxy that says https is served`;
    return { ok: true, line };
  }
  if (tls.kind === 'self-signed') return { ok: true, line: 'tls: self-signed, made at first start' };
  try {
    const { cert } = readTlsFiles(tls);
    const endsAt = new X509Certificate(cert).validToDate.getTime();
    const until = new Date(endsAt).toISOString().slice(0, 10);
    if (endsAt <= now) return { ok: false, line: `tls: the certificate ${tls.cert} has expired on ${until}` };
    const days = Math.floor((endsAt - now) / DAY_MS);
    if (days < RENEWAL_DAYS)
      return {
        ok: false,
        line: `tls: the certificate ${tls.cert} ends on ${until}, in ${plural(days, 'day')}`,
      };
    return { ok: true, line: `tls: ${tls.cert}, until ${until}` };
  } catch (thrown) {
    if (!(thrown instanceof StartupError)) throw thrown;
    return { ok: false, line: `tls: ${thrown.message}` };
  }
}

function isAddressRange(range: string): boolean {
  const [address = '', prefix, ...rest] = range.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128));
}
