import type { ImageStore } from '../activity/image-store.ts';
import type { Reader } from '../activity/reader.ts';
import type { Catalog, CatalogSource } from '../catalog/catalog.ts';
import type { StoredCatalog } from '../catalog/stored.ts';
import type { Accounts } from '../identity/accounts/accounts.ts';
import type { Operators } from '../identity/accounts/operators.ts';
import type { Teams } from '../identity/accounts/teams.ts';
import type { Auth } from '../identity/sign-in/auth.ts';
import type { Setup } from '../identity/sign-in/setup.ts';
import type { IdempotencyStore } from '../ledger/idempotency-store.ts';
import type { Ledger } from '../ledger/port.ts';
import type { Notices } from '../outbox/notices.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { OutboxSender } from '../outbox/sender.ts';
import type { Webhooks } from '../outbox/webhooks.ts';
import type { Payments } from '../payments/payments.ts';
import type { Clock } from '../std/clock.ts';
import type { AccountId } from '../std/ids.ts';
import type { Log } from '../std/log.ts';
import type { NanoUsd } from '../std/money.ts';
import type { Store } from '../store/store.ts';
import type { ImportTarget } from '../upstream/offered/import-preview.ts';
import type { UpstreamStatus } from '../upstream/pool.ts';
import type { UpstreamHealth } from '../upstream/port.ts';
import type { Usd } from './contract.ts';
import type { PlaygroundRelay } from './playground-relay.ts';
import type { ReceiptLinks } from './receipt-links.ts';

/** Everything the console works with, made once at start. */
export interface ConsoleParts {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly auth: Auth;
  readonly setup: Setup;
  readonly accounts: Pick<Accounts, 'allowCards' | 'replaceToken' | 'setLimits' | 'setPriceGroup'>;
  readonly teams: Teams;
  readonly operators: Operators;
  /** Answers of operations that came with an Idempotency-Key. */
  readonly keyedAnswers: IdempotencyStore;
  readonly codes: Codes;
  /** Absent while payments by card are off. */
  readonly payments: Payments | undefined;
  readonly catalog: Pick<CatalogSource, 'current' | 'inForce' | 'status'>;
  /** Keys of the catalog's file whose new value is not in force before the next start. */
  restartNeeded(): readonly string[];
  /** Absent when the operator's file is the catalog: then it is shown and not edited. */
  readonly catalogEditor: CatalogEditor | undefined;
  /** The catalog and backends that an import of models starts from. */
  importTarget(): Promise<CatalogImportTarget>;
  /** Whether the environment has a variable of this name, as providers name their keys. */
  hasVariable(name: string): boolean;
  tryBackend(trial: BackendTrial): Promise<TriedBackend>;
  readonly backends: BackendHealth;
  readonly operation: OperationHealth;
  readonly playground: PlaygroundRelay;
  readonly receiptLinks: ReceiptLinks;
  readonly messages: ConsoleMessages;
  readonly images: Pick<ImageStore, 'findOwn' | 'thumbnail' | 'remove' | 'removeSome' | 'removeOfAccount'>;
  readonly imageQuotaBytes: number;
  /** Where customers reach this server, as the operator says. */
  readonly publicUrl: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
}

export type CatalogEditor = Pick<
  StoredCatalog,
  | 'newest'
  | 'propose'
  | 'inspect'
  | 'draft'
  | 'drafts'
  | 'save'
  | 'planFor'
  | 'plan'
  | 'plans'
  | 'cancelPlan'
  | 'history'
  | 'at'
  | 'changesAt'
  | 'listProviderKeys'
  | 'setProviderKey'
  | 'removeProviderKey'
>;

export interface CatalogImportTarget extends ImportTarget {
  /** The version of a stored catalog; `undefined`: the catalog is the operator's file. */
  readonly revision: number | undefined;
}

/** A model of a backend in a catalog that need not be published. */
export interface BackendTrial {
  readonly catalog: Catalog;
  readonly backend: string;
  readonly model: string;
}

/** How a small streamed request to it went. */
export interface TriedBackend {
  readonly ok: boolean;
  /** The problem in words; empty if there is none. */
  readonly detail: string;
  /** The words of the answer. */
  readonly text: string;
  readonly durationMs: number;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cost: Usd;
}

/** Redeem codes as the console needs them: sold or given away in batches, each worth its amount once. */
interface Codes {
  /** `undefined`: there is no such code, or it was redeemed already, or it is too old. */
  redeem(
    code: string,
    accountId: AccountId,
  ): Promise<{ readonly amount: NanoUsd; readonly balance: NanoUsd } | undefined>;
  /** The codes themselves are returned here and never again, but under the same `once`. */
  make(batch: CodeBatchOrder): Promise<{ readonly batch: string; readonly codes: readonly string[] }>;
  /** Returns how many codes of the batch nobody has redeemed; none of them can be redeemed any more. */
  cancel(batch: string): Promise<number>;
}

interface CodeBatchOrder {
  readonly amount: NanoUsd;
  readonly count: number;
  readonly batch: string | undefined;
  readonly expiresAt: number | undefined;
  readonly actor: string;
  readonly once: string;
}

/** Mail and webhooks. */
export interface ConsoleMessages {
  readonly outbox: Outbox;
  readonly notices: Notices;
  readonly sender: Pick<OutboxSender, 'sendNow'>;
  readonly webhooks: Webhooks;
  /** How mail is sent, without the password; absent: it is not. */
  readonly mail: { readonly from: string; readonly server: string } | undefined;
}

export interface BackendHealth {
  list(): readonly UpstreamStatus[];
  /** A test call on demand; it does not count as traffic. */
  test(name: string, signal: AbortSignal): Promise<UpstreamHealth>;
}

/** How this process itself is doing. */
export interface OperationHealth {
  /** `undefined`: it does not serve HTTPS itself. */
  certificateEndsAt(): number | undefined;
  /** Requests that are over, and whose charge could not be booked yet. */
  settlementsWaiting(): number;
  /** Requests that a backend serves now, on this node. */
  runningAt(backend: string): number;
}

/** The parts as the routes see them: with the reader for lists and sums. */
export interface RouteParts extends ConsoleParts {
  readonly reader: Reader;
}
