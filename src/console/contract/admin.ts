import type { ReceiptAttempt, ReceiptDetail, UsageCounts } from './account.ts';
import type { DisplayCurrency } from './session.ts';
import type { Day, Millis, SignUpMode, Usd } from './shared.ts';

export interface AdminDay extends UsageCounts {
  day: Day;
}

export interface AdminReceipt extends Omit<ReceiptDetail, 'attempts'> {
  attempts: AdminAttempt[];
  /** What it cost the operator; null where that is not known. */
  costUsd: Usd | null;
  /** What failed attempts may cost beside it. */
  possibleCostUsd: Usd;
  /** What was charged, less both; null where nothing is known of either. */
  marginUsd: Usd | null;
  accountId: string;
  email: string;
  upstream: string | null;
  overrunUsd: Usd;
  node: string;
}

export interface AdminAttempt extends ReceiptAttempt {
  /** As the provider reports it, by the catalog's prices, or the most that a failed attempt may cost. Null: not known. */
  cost: { usd: Usd; basis: 'reported' | 'priced' | 'possible' } | null;
}

export type MarginGrouping = 'day' | 'model' | 'backend';

/** What requests brought, beside what they cost the operator. */
export interface AdminMargin {
  by: MarginGrouping;
  days: number;
  total: AdminMarginSums;
  rows: AdminMarginRow[];
  /** Groups that are not among the rows: those that cost least. */
  moreRows: number;
  /** Some of the days, models and backends whose margin is below zero, whatever the rows are grouped by. */
  belowZero: { by: MarginGrouping; key: string }[];
  /** The latest requests of these days that cost more than they brought. */
  losses: AdminLoss[];
}

export interface AdminMarginSums {
  requests: number;
  chargedUsd: Usd;
  /** Of that, what was charged for requests whose cost is not known. */
  unknownUsd: Usd;
  /** Null: not known of any of them. */
  costUsd: Usd | null;
  possibleCostUsd: Usd;
  /** Of the requests whose cost is known, if all that is possible is billed; null: of none. */
  marginUsd: Usd | null;
  isLoss: boolean;
}

export interface AdminMarginRow extends AdminMarginSums {
  /** The day, model or backend; empty where no backend was asked. */
  key: string;
}

export interface AdminLoss {
  id: string;
  model: string;
  upstream: string | null;
  chargedUsd: Usd;
  costUsd: Usd;
  possibleCostUsd: Usd;
}

export interface AdminMadeCodes {
  batch: string;
  amountUsd: Usd;
  /** Shown once. */
  codes: string[];
}

export interface AdminCatalog {
  source: {
    kind: 'file' | 'store';
    path: string | null;
    loadedAt: Millis;
    error: string | null;
    /** Keys whose new value is not in force before the next start. */
    restartNeeded: string[];
    editable: boolean;
  };
  version: string;
  /** The newest stored version's number; send it back with a save. Null for a file. */
  revision: number | null;
  yaml: string;
  endpoints: AdminCatalogEndpoint[];
  upstreams: {
    name: string;
    kind: string;
    baseUrl: string | null;
    hasKey: boolean;
    /** Why it is not asked at all: its key is for another host. */
    problem: string | null;
  }[];
  limits: { chatPerMinute: number; imagesPerMinute: number; concurrent: number };
}

export interface AdminCatalogEndpoint {
  code: string;
  name: string;
  type: string;
  unavailable: string | null;
  models: string[];
  /** Tried in order; those of one place share by weight. */
  places: { upstream: string; weight: number }[][];
}

export interface AdminCatalogProposal {
  ok: boolean;
  problems: {
    line: number | null;
    column: number | null;
    path: string | null;
    message: string;
    /** A key that would fix it if it were stored, and the server that it would be sent to. */
    missingKey: { name: string; host: string } | null;
  }[];
  /** What would change, for the preview; empty when nothing does. */
  changes: {
    kind: 'added' | 'removed' | 'changed';
    subject: string;
    before: string | null;
    after: string | null;
  }[];
}

/** What a backend offers beside what is sold; amounts are dollars by the keys of the catalog's file. */
export interface AdminCatalogImport {
  upstream: string;
  /** The bundled price list and its version. */
  list: string;
  /** `1.2`; null: none, so that new models are sold at cost and the prices of others stay. */
  markup: string | null;
  new: {
    model: string;
    name: string;
    type: string;
    price: AdminImportPrice;
    /** Null: nobody knows. */
    cost: AdminImportPrice | null;
    context: number | null;
    max_output: number | null;
    abilities: string[];
  }[];
  changed: ImportChange[];
  /** Another price than the list's, which stays: no markup says what it should be. */
  differing: ImportChange[];
  gone: string[];
  skipped: { model: string; reason: string }[];
  same: number;
  /** The draft, to be saved with `revision`; null: nothing would change, or the catalog is a file. */
  yaml: string | null;
  revision: number | null;
  /** The changes alone, to paste into a file. */
  paste: string;
}

interface ImportChange {
  model: string;
  list: string;
  /** The backend's name of it. */
  offered: string;
  before: AdminImportPrice;
  after: AdminImportPrice;
}

export interface AdminImportPrice {
  [key: string]: string | { [tokens: string]: AdminImportPrice };
}

export interface AdminProviderKey {
  /** As written in the YAML: `${NAME}`. */
  name: string;
  hint: string;
  /** `https://host:port`: the only server it is sent to. null: to none until it is entered again. */
  host: string | null;
  updatedAt: Millis;
}

export interface AdminProviderKeys {
  items: AdminProviderKey[];
  /** By the usual name of a key, the host it is for. */
  knownHosts: Record<string, string>;
}

export type BackendState = 'closed' | 'half_open' | 'open';

export interface AdminVerification {
  ok: boolean;
  at: Millis;
  durationMs: number;
  checked: { accounts: number; entries: number; requests: number };
  breaches: { invariant: string; subject: string; detail: string }[];
}

export interface AdminSettings {
  siteName: string;
  signUp: SignUpMode;
  topUpHint: string;
  /** What can be topped up by card at once. */
  topUpAmounts: Usd[];
  /** Who issues the statements. */
  issuer: { name: string; address: string; taxId: string };
  contact: string;
  currency: DisplayCurrency;
}

/** Whether anybody may see models, prices and status without an account. */
export interface AdminPublicPages {
  open: boolean;
}

/** What a customer is given once the address is confirmed; an amount of zero is nothing. */
export interface AdminWelcomeCredit {
  amountUsd: Usd;
  /** At most this many accounts a day, UTC. */
  perDay: number;
}
