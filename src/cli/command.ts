import type { ImageStore } from '../activity/image-store.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { FileSettings } from '../catalog/file-schema.ts';
import type { Accounts } from '../identity/accounts/accounts.ts';
import type { Operators } from '../identity/accounts/operators.ts';
import type { Teams } from '../identity/accounts/teams.ts';
import type { Secret } from '../identity/accounts/secret.ts';
import type { Ledger } from '../ledger/port.ts';
import type { Clock } from '../std/clock.ts';
import type { NanoUsd } from '../std/money.ts';
import type { ImageStorages } from '../store/image-objects.ts';
import type { Store } from '../store/store.ts';
import type { BuiltInKinds } from '../upstream/make-upstream.ts';
import type { CommandCatalog } from './command-catalog.ts';

/** What a command may use. Only commands that need the store open it; it is closed when they are done. */
export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly print: (line: string) => void;
  /** To standard error: what the operator should know beside the result. */
  readonly warn: (line: string) => void;
  readonly passwordInput: PasswordInput;
  /** The system's user who runs the command. */
  readonly machineUser: string;
  /** The data folder. A command of root's acts as its owner from then on, as it does once the store is open. */
  dataDirAsOwner(): string;
  /** Where a server would listen, and where customers reach it. */
  readonly address: {
    readonly host: string;
    readonly port: number;
    readonly publicUrl?: string | undefined;
  };
  /** The built-in backends, for checking the catalog's backends. */
  readonly builtIn: BuiltInKinds;
  /** Keys of the catalog's file that are the server's. */
  readonly fileSettings: FileSettings;
  /** `folder`: where relative paths begin; absent, where the server would look. */
  checkTls(catalog: Catalog, folder?: string): CheckResult;
  /** What a server says about its set-up at the start; without a catalog, as far as it can be told. */
  setupChecks(catalog: Catalog | undefined): Promise<readonly CheckResult[]>;
  /** Every setting as a server would use it now; throws when one has a value that it cannot have. */
  configuration(): Promise<EffectiveConfiguration>;
  /** The store alone, without its secret. */
  withStore<T>(work: (store: Store) => Promise<T>): Promise<T>;
  /** The catalog that a server would use: the operator's file, or the one in the store. */
  withCatalog<T>(work: (catalog: CommandCatalog) => Promise<T>): Promise<T>;
  /** Sends real requests to a backend. */
  readonly liveCheck: LiveCheck;
  /** Asks for a yes; absent where nobody sits at a terminal. */
  readonly confirm?: ((question: string) => Promise<boolean>) | undefined;
  withServices<T>(work: (services: CliServices) => Promise<T>): Promise<T>;
  /** The services of the data folder, also where it is closed to everybody else because it is moved to Postgres. */
  withMovedFolder<T>(work: (services: CliServices) => Promise<T>): Promise<T>;
  /** The Postgres that a data folder is moved to; its secret comes with the data. */
  withMoveTarget<T>(
    databaseUrl: string,
    work: (target: Pick<CliServices, 'store' | 'ledger'>) => Promise<T>,
  ): Promise<T>;
}

export interface CheckResult {
  readonly ok: boolean;
  readonly line: string;
}

export interface EffectiveConfiguration {
  readonly settings: readonly EffectiveSetting[];
  /** Variables with our prefix that nothing reads. */
  readonly unknown: readonly { readonly name: string; readonly meant: string | undefined }[];
}

export interface EffectiveSetting {
  /** The environment variable, or the key of the catalog's file. */
  readonly name: string;
  /** `null`: none. Secrets are hidden. */
  readonly value: unknown;
  /** `environment`, `default`, or the file with settings or the catalog. */
  readonly source: string;
}

/** Where a password comes from if it is not on the command line. */
export interface PasswordInput {
  readonly isTerminal: boolean;
  /** The first line of standard input. */
  readLine(): Promise<string>;
  /** Asks at the terminal; what is typed is not shown. */
  ask(question: string): Promise<string>;
}

export interface CliServices {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly accounts: Accounts;
  readonly teams: Teams;
  readonly operators: Operators;
  readonly secret: Secret;
  readonly images: ImageStore;
  /** Where images are kept outside of the database. */
  readonly imageStorages: ImageStorages;
  /** The catalog that a server would use now. */
  catalog(): Promise<Catalog>;
  /** The retention of receipts in days, as the catalog's file says. */
  receiptsDays(): Promise<number | undefined>;
  /** How long a request may live by the catalog's deadlines. */
  longestRequestMs(): Promise<number | undefined>;
}

export interface CliCommand {
  /** The words on the command line: `account create`. */
  readonly name: string;
  /** Arguments and flags, for the help. */
  readonly usage: string;
  readonly about: string;
  readonly flags: Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>;
  readonly minArguments: number;
  /** By default `minArguments`. */
  readonly maxArguments?: number;
  /** What is recorded in the audit log; absent if the command changes nothing, or writes its own entry. */
  audit?(input: CommandInput): AuditedCommand | undefined;
  run(input: CommandInput, context: CliContext): Promise<number>;
}

/** A command as the audit log records it, without passwords. */
export interface AuditedCommand {
  readonly action: string;
  /** The first argument is the email address of an account. */
  readonly isAboutAccount: boolean;
  /** The address of the account that it is about, where it is not the first argument. */
  readonly aboutEmail?: string | undefined;
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface CommandInput {
  readonly arguments: readonly string[];
  readonly flags: Readonly<Record<string, string | boolean | undefined>>;
}

/** A mistake on the command line. */
export class UsageError extends Error {}

/** What the command is about does not exist. */
export class NotFoundError extends Error {}

/** The command is valid but must not run now. */
export class CommandRefused extends Error {}

/** A server that the command asks does not answer, or says that it cannot serve. */
export class ServerUnavailable extends Error {}

export function textFlag(input: CommandInput, name: string): string | undefined {
  const value = input.flags[name];
  return typeof value === 'string' ? value : undefined;
}

/** A flag of every command: the name to be recorded beside the system's user. */
export const AS_FLAG = { as: { type: 'string' } } as const;

export const JSON_FLAG = { json: { type: 'boolean' } } as const;

/** Prints the result: one line of JSON with `--json`, readable lines otherwise. */
export function printResult(
  input: CommandInput,
  context: CliContext,
  value: unknown,
  lines: readonly string[],
): void {
  if (input.flags['json'] === true) context.print(JSON.stringify(value));
  else for (const line of lines) context.print(line);
}

const LIVE_CASES = ['chat', 'stream', 'tools', 'json schema', 'image in', 'image out'] as const;
export type LiveCaseName = (typeof LIVE_CASES)[number];

/** Real requests to a backend, for `doctor --live`. */
export interface LiveCheckRequest {
  readonly catalog: Catalog;
  readonly backend: string;
  /** The only model to use; otherwise the cheapest that can do what a case needs. */
  readonly model?: string | undefined;
  /** No request is sent that could cost more than what is left of this. */
  readonly most: NanoUsd;
  /** All when absent. */
  readonly cases?: readonly LiveCaseName[] | undefined;
}

export type LiveResult = {
  readonly name: LiveCaseName;
  readonly model: string | undefined;
  readonly held: NanoUsd;
  readonly cost: NanoUsd;
  readonly durationMs: number;
} & (
  | { readonly kind: 'passed'; readonly usage: LiveUsage }
  | { readonly kind: 'failed'; readonly reason: string; readonly usage?: LiveUsage | undefined }
  | { readonly kind: 'skipped'; readonly reason: string }
);

/** As the provider reported it. */
export interface LiveUsage {
  readonly input: number | undefined;
  readonly cached: number | undefined;
  readonly output: number | undefined;
  readonly reasoning: number | undefined;
  readonly images: number | undefined;
  /** The words of the answer, if there were any. */
  readonly text: string;
  /** What the provider says it charges, if it says so. */
  readonly reportedCost: NanoUsd | undefined;
}

type LiveCheck = (request: LiveCheckRequest) => Promise<readonly LiveResult[]>;

/** A value of a view, for people. */
export function shownValue(value: unknown): string {
  if (value === null || value === undefined) return '–';
  if (Array.isArray(value)) return value.join(', ') || '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
