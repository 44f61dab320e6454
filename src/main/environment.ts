import { IMAGE_QUOTA_BYTES } from '../activity/image-store.ts';
import { MOST_ACCOUNTS } from '../identity/accounts/teams.ts';
import { LEDGER_DEADLINE_MS } from '../ledger/postgres/batch-queue.ts';
import { closestWord } from '../std/closest.ts';
import { SettingError } from '../std/startup-error.ts';
import { DEFAULT_CONNECTIONS, LEAST_CONNECTIONS } from '../store/postgres-address.ts';

/** One environment variable: the reader, `tollgate config`, the reference page and the check at the start come from this. */
export interface EnvironmentSetting {
  readonly group:
    | 'place'
    | 'database'
    | 'restarts'
    | 'load'
    | 'logs'
    | 'telemetry'
    | 'sign-in'
    | 'messages'
    | 'payments'
    | 'images'
    | 'commands'
    | 'internal';
  readonly about: string;
  /** The value where it is not set; `undefined`: none. */
  readonly fallback: string | number | undefined;
  /** For a whole number: the least and the most. */
  readonly range?: readonly [number, number];
  /** `whole`: never shown. `password`: an address that may contain one. */
  readonly secret?: 'whole' | 'password';
}

export type Env = Readonly<Record<string, string | undefined>>;

const MEGABYTE = 1_048_576;
const MAX_WORKERS = 256;

export const ENVIRONMENT = {
  TOLLGATE_CONFIG: {
    group: 'place',
    about:
      'The catalog file; `tollgate.yaml` where the program is started, if it is there. Without one the catalog is in the store and is edited in the console.',
    fallback: undefined,
  },
  TOLLGATE_ENV_FILE: {
    group: 'place',
    about:
      'A file with these settings, a line `NAME=value` each. The server and every command read it, so a service and a shell share them. The environment wins. Another file must exist; `/dev/null` reads none.',
    fallback: '/etc/tollgate.env',
  },
  TOLLGATE_DATA: {
    group: 'place',
    about: 'Folder of the database and the secret. Root acts as its owner.',
    fallback: './data',
  },
  TOLLGATE_HOST: { group: 'place', about: 'The address to listen on.', fallback: '127.0.0.1' },
  TOLLGATE_PORT: {
    group: 'place',
    about: 'The port to listen on; 0 takes a free one.',
    fallback: 8700,
    range: [0, 65_535],
  },
  TOLLGATE_PUBLIC_URL: {
    group: 'place',
    about:
      'Where customers reach this server, such as `https://gate.example.com`. Used in links for setup, passwords, invitations and images, in the documentation and in the OpenAPI document. Without it, the address that a request was sent to.',
    fallback: undefined,
  },
  TOLLGATE_SECRET: {
    group: 'place',
    about:
      'Keys tokens, sessions, signed links and stored provider keys; 16 characters at least, the same on every node. Without it, the file `secret` in the data folder, made at the first start on SQLite.',
    fallback: undefined,
    secret: 'whole',
  },
  TOLLGATE_CATALOG_ENV: {
    group: 'place',
    about:
      'Environment variables that a catalog edited in the console may read, besides `*_API_KEY`: `NAME,NAME=https://host`.',
    fallback: undefined,
  },
  DATABASE_URL: {
    group: 'database',
    about:
      'Postgres, as `postgres://user:password@host:5432/database`; without it SQLite in the data folder.',
    fallback: undefined,
    secret: 'password',
  },
  TOLLGATE_DATABASE_CONNECTIONS: {
    group: 'database',
    about:
      'How many connections to Postgres one process may open in all; `tollgate doctor` says how many the server has.',
    fallback: DEFAULT_CONNECTIONS,
    range: [LEAST_CONNECTIONS, 200],
  },
  TOLLGATE_DATABASE_WAIT_SECONDS: {
    group: 'database',
    about: 'How long a server that starts before its Postgres waits for it.',
    fallback: 60,
    range: [0, 3_600],
  },
  TOLLGATE_DATABASE_DEADLINE_MS: {
    group: 'database',
    about:
      'How long a request waits for Postgres before it is refused with `service_unavailable`. A free connection is waited for during four ninths of it, a statement five ninths. 900 is enough for a database 100 ms away, 1800 for one 200 ms away.',
    fallback: LEDGER_DEADLINE_MS,
    range: [100, 60_000],
  },
  TOLLGATE_LEASE_SECONDS: {
    group: 'database',
    about: 'How long after the death of a node the others close its requests.',
    fallback: 120,
    range: [2, 3_600],
  },
  TOLLGATE_WORKERS: {
    group: 'load',
    about: 'With Postgres: processes on this machine that share the port, one for each core.',
    fallback: 1,
    range: [1, MAX_WORKERS],
  },
  TOLLGATE_DRAIN_SECONDS: {
    group: 'restarts',
    about:
      'How long requests are still served after SIGTERM, while `/readyz` already says no. Longer than a load balancer needs.',
    fallback: 5,
    range: [0, 3_600],
  },
  TOLLGATE_GRACE_SECONDS: {
    group: 'restarts',
    about: 'How long streams may continue after that.',
    fallback: 60,
    range: [0, 86_400],
  },
  TOLLGATE_MAX_IN_FLIGHT: {
    group: 'load',
    about:
      'Requests that a process has under way together, half of them for one account. Fewer where it may not open two files for each. Beyond it, new ones get 500 `service_unavailable` immediately.',
    fallback: 20_000,
    range: [1, 1_000_000],
  },
  TOLLGATE_MAX_IMAGE_JOBS: {
    group: 'load',
    about:
      'Image jobs (`Prefer: respond-async`) that may run in one process; further ones are refused with 429. Each also counts as a request under way.',
    fallback: 500,
    range: [1, 100_000],
  },

  TOLLGATE_MAX_DELAY_MS: {
    group: 'load',
    about: 'How late the event loop may be, five times in a row, before new requests are rejected.',
    fallback: 1_000,
    range: [10, 60_000],
  },
  TOLLGATE_COUNT_WAIT_MS: {
    group: 'load',
    about:
      'How long a request waits for the count of its input, 150 ms more for each megabyte. After that its hold counts one token per byte.',
    fallback: 50,
    range: [1, 60_000],
  },
  TOLLGATE_COMMENT_MS: {
    group: 'load',
    about:
      'How often a stream of images gets a comment line while nothing else comes. Less than the idle timeout of any proxy.',
    fallback: 15_000,
    range: [10, 600_000],
  },
  TOLLGATE_IMAGE_QUOTA_MB: {
    group: 'load',
    about: 'What the generated images of one account may occupy; the oldest make room for new ones.',
    fallback: IMAGE_QUOTA_BYTES / MEGABYTE,
    range: [64, 1_000_000],
  },
  TOLLGATE_TEAM_ACCOUNTS: {
    group: 'load',
    about: 'How many members and apps a team may have together.',
    fallback: MOST_ACCOUNTS,
    range: [1, 200],
  },
  TOLLGATE_LOG_LEVEL: {
    group: 'logs',
    about: 'The least important lines that are logged, where the catalog file does not say it.',
    fallback: 'info',
  },
  TOLLGATE_ACCESS_LOG: {
    group: 'logs',
    about:
      'One line for each answered request: `off`, `json`, or a share from 0 to 1. The catalog file comes first.',
    fallback: 'off',
  },
  TOLLGATE_METRICS_TOKEN: {
    group: 'logs',
    about:
      'The token for `/metrics`, sent as `Authorization: Bearer`; 16 characters at least. Without it, `tollgate metrics token` prints the one of this installation.',
    fallback: undefined,
    secret: 'whole',
  },
  TOLLGATE_METRICS_ADDRESS: {
    group: 'logs',
    about:
      'A separate address for `/metrics`, such as `127.0.0.1:9700`. Everyone who reaches it is answered without a token.',
    fallback: undefined,
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    group: 'telemetry',
    about:
      'The address of a collector, such as `http://127.0.0.1:4318`: spans go to `/v1/traces` there and metrics to `/v1/metrics`. Without it, and without one of the next two, OpenTelemetry is not loaded.',
    fallback: undefined,
    secret: 'password',
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    group: 'telemetry',
    about: 'Another address for spans, used as it is.',
    fallback: undefined,
    secret: 'password',
  },
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: {
    group: 'telemetry',
    about: 'Another address for metrics, used as it is.',
    fallback: undefined,
    secret: 'password',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    group: 'telemetry',
    about: 'What the collector wants to be sent, such as a key: `name=value,name=value`.',
    fallback: undefined,
    secret: 'whole',
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    group: 'telemetry',
    about: '`http/protobuf` or `http/json`.',
    fallback: 'http/protobuf',
  },
  OTEL_EXPORTER_OTLP_TIMEOUT: {
    group: 'telemetry',
    about: 'How long one export may take, in milliseconds.',
    fallback: 10_000,
    range: [100, 60_000],
  },
  OTEL_SDK_DISABLED: {
    group: 'telemetry',
    about: '`true`: nothing is exported, whatever else is set.',
    fallback: 'false',
  },
  OTEL_TRACES_EXPORTER: {
    group: 'telemetry',
    about: '`otlp`, or `none` for no spans.',
    fallback: 'otlp',
  },
  OTEL_METRICS_EXPORTER: {
    group: 'telemetry',
    about: '`otlp`, or `none` for no metrics.',
    fallback: 'otlp',
  },
  OTEL_SERVICE_NAME: { group: 'telemetry', about: 'The name of this service.', fallback: 'tollgate' },
  OTEL_RESOURCE_ATTRIBUTES: {
    group: 'telemetry',
    about: 'What else is told of this service: `name=value,name=value`.',
    fallback: undefined,
  },
  OTEL_TRACES_SAMPLER: {
    group: 'telemetry',
    about:
      'Which requests get spans: `always_on`, `always_off` or `traceidratio`. With `parentbased_` in front, the decision of a traced client is followed.',
    fallback: 'parentbased_always_on',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    group: 'telemetry',
    about: 'The share for `traceidratio`, from 0 to 1.',
    fallback: '1',
  },
  OTEL_PROPAGATORS: {
    group: 'telemetry',
    about:
      'With `tracecontext` among them, the trace of a client (`traceparent`, `tracestate`) is taken over and passed on to backends. No collector is needed for that; `none` does neither.',
    fallback: 'tracecontext',
  },
  OTEL_METRIC_EXPORT_INTERVAL: {
    group: 'telemetry',
    about: 'How often metrics are exported, in milliseconds.',
    fallback: 60_000,
    range: [100, 3_600_000],
  },
  OTEL_BSP_SCHEDULE_DELAY: {
    group: 'telemetry',
    about: 'How long spans gather before they are sent, in milliseconds.',
    fallback: 5_000,
    range: [10, 60_000],
  },
  OTEL_BSP_MAX_QUEUE_SIZE: {
    group: 'telemetry',
    about: 'How many spans may wait to be sent; further ones are dropped.',
    fallback: 2_048,
    range: [1, 100_000],
  },
  TOLLGATE_GITHUB_CLIENT_ID: {
    group: 'sign-in',
    about: 'With its secret: signing in with GitHub.',
    fallback: undefined,
  },
  TOLLGATE_GITHUB_CLIENT_SECRET: {
    group: 'sign-in',
    about: 'The secret of the application at GitHub.',
    fallback: undefined,
    secret: 'whole',
  },
  TOLLGATE_GOOGLE_CLIENT_ID: {
    group: 'sign-in',
    about: 'With its secret: signing in with Google.',
    fallback: undefined,
  },
  TOLLGATE_GOOGLE_CLIENT_SECRET: {
    group: 'sign-in',
    about: 'The secret of the application at Google.',
    fallback: undefined,
    secret: 'whole',
  },
  TOLLGATE_SMTP_URL: {
    group: 'messages',
    about:
      'The mail server, as `smtp://user:password@host:587` or `smtps://…`; needs `TOLLGATE_MAIL_FROM` and `TOLLGATE_PUBLIC_URL`. Without it no email is sent.',
    fallback: undefined,
    secret: 'password',
  },
  TOLLGATE_MAIL_FROM: {
    group: 'messages',
    about: 'The sender of emails, as `name@example.com` or `Name <name@example.com>`.',
    fallback: undefined,
  },
  TOLLGATE_WEBHOOKS_PRIVATE: {
    group: 'messages',
    about:
      "`yes`: the operator's own webhooks may go to private addresses and without https. Those of customers never may.",
    fallback: 'no',
  },
  TOLLGATE_S3_BUCKET: {
    group: 'images',
    about:
      'With its keys: new images are kept in this bucket of a storage that speaks S3. Without it, in files of the data folder on SQLite and in rows on Postgres.',
    fallback: undefined,
  },
  TOLLGATE_S3_ENDPOINT: {
    group: 'images',
    about: 'The address of the storage, such as `https://s3.example.com`; without it, Amazon S3.',
    fallback: undefined,
  },
  TOLLGATE_S3_REGION: { group: 'images', about: 'The region of the bucket.', fallback: 'us-east-1' },
  TOLLGATE_S3_ACCESS_KEY_ID: {
    group: 'images',
    about: 'A key that may write, read and delete objects of the bucket.',
    fallback: undefined,
    secret: 'whole',
  },
  TOLLGATE_S3_SECRET_ACCESS_KEY: {
    group: 'images',
    about: 'The secret of that key.',
    fallback: undefined,
    secret: 'whole',
  },
  TOLLGATE_S3_DEADLINE_MS: {
    group: 'images',
    about: 'How long one call to the storage may take. An image that is not kept by then is not charged.',
    fallback: 15_000,
    range: [50, 120_000],
  },
  TOLLGATE_STRIPE_SECRET_KEY: {
    group: 'payments',
    about: 'With the secret of the webhook: top-up by card. A secret or restricted key of Stripe.',
    fallback: undefined,
    secret: 'whole',
  },
  TOLLGATE_STRIPE_WEBHOOK_SECRET: {
    group: 'payments',
    about: 'The signing secret (`whsec_…`) of the webhook at Stripe that sends to `/webhooks/stripe`.',
    fallback: undefined,
    secret: 'whole',
  },
  TOLLGATE_STRIPE_ADDRESS: {
    group: 'payments',
    about: 'Another address for the API of Stripe, such as that of a stand-in for tests.',
    fallback: undefined,
  },
  TOLLGATE_NEW_SECRET: {
    group: 'commands',
    about: 'The secret that `tollgate secret rotate` puts in place.',
    fallback: undefined,
    secret: 'whole',
  },
  TOLLGATE_WORKER: {
    group: 'internal',
    about: 'Set by the server for each of its workers; never by hand.',
    fallback: undefined,
    range: [0, MAX_WORKERS],
  },
} as const satisfies Record<string, EnvironmentSetting>;

type SettingName = keyof typeof ENVIRONMENT;
type WholeNumberName = {
  [Name in SettingName]: (typeof ENVIRONMENT)[Name] extends { readonly range: unknown } ? Name : never;
}[SettingName];

/** An empty text counts as not set, as in a Compose file with an empty default. */
export function readText(env: Env, name: SettingName): string | undefined {
  const value = env[name];
  return value === undefined || value.trim() === '' ? undefined : value;
}

export function readWholeNumber(env: Env, name: WholeNumberName): number {
  const setting = ENVIRONMENT[name];
  const [least, most] = setting.range;
  const text = readText(env, name);
  if (text === undefined) return setting.fallback ?? 0;
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new SettingError(`${name} must be a whole number from ${least} to ${most}, not '${text}'.`);
}

/** An address without a path, so that links can be made of it. */
export function readAddress(env: Env, name: SettingName): string | undefined {
  const text = readText(env, name);
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url && url.pathname === '/' && !url.search && !url.hash && !url.username && !url.password;
  if (!isPlain || !/^https?:$/.test(url.protocol))
    throw new SettingError(`${name} must be an address such as https://gate.example.com, not '${text}'.`);
  return url.origin;
}

/** Where the examples for customers read their token from; an operator who tries them has it set. The server reads it nowhere. */
export const CUSTOMER_TOKEN = 'TOLLGATE_TOKEN';

/** Variables with our prefix that nothing reads: a mistyped one would be ignored in silence. */
export function unknownVariables(env: Env): { readonly name: string; readonly meant: string | undefined }[] {
  const known = new Set([...Object.keys(ENVIRONMENT), CUSTOMER_TOKEN]);
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !known.has(name))
    .map((name) => ({ name, meant: meantVariable(name) }));
}

const PREFIX = 'TOLLGATE_';

/** Compared by what follows the prefix, which all have in common. */
function meantVariable(name: string): string | undefined {
  const endings = Object.keys(ENVIRONMENT).flatMap((known) =>
    known.startsWith(PREFIX) ? [known.slice(PREFIX.length)] : [],
  );
  const meant = closestWord(name.slice(PREFIX.length), endings);
  return meant === undefined ? undefined : PREFIX + meant;
}
