import type { UsageCounts } from './account.ts';
import type { AdminDay, BackendState } from './admin.ts';
import type { Day, Millis, Usd } from './shared.ts';

/** All traffic at a glance. */
export interface AdminOverview {
  /** Fourteen days, today last; days without traffic are there with zeros. */
  days: AdminDay[];
  money: AdminMoney;
  accounts: { total: number; disabled: number; balanceUsd: Usd; heldUsd: Usd };
  openRequests: number;
  /** What backends used beyond holds: the operator's loss, ever. */
  overrunUsd: Usd;
  /** What refunds and disputes took beyond balances, as far as it did not come back. */
  lostPaymentsUsd: Usd;
  topModels: ({ endpoint: string; model: string } & UsageCounts)[];
  /** Who spent most this month. */
  topAccounts: { accountId: string; email: string; monthSpentUsd: Usd }[];
  backends: AdminBackendFigures[];
  /** The requests that the backends' figures come from; null: there was none in 24 hours. */
  sample: { requests: number; since: Millis } | null;
  /** When these figures were computed; they are kept for a few seconds. */
  at: Millis;
}

export interface AdminMoney {
  periods: AdminMoneyPeriod[];
  /** Thirty days, today last. */
  days: ({ day: Day } & AdminMoneySums)[];
}

export interface AdminMoneyPeriod {
  /** Of the period, today included. */
  days: 1 | 7 | 30;
  now: AdminMoneySums;
  /** The same number of days before it. */
  before: AdminMoneySums;
}

export interface AdminMoneySums {
  revenueUsd: Usd;
  /** Null: not known of any request. */
  costUsd: Usd | null;
  /** Of the requests whose cost is known, if all that is possible is billed; null: of none. */
  marginUsd: Usd | null;
  /** What was charged for requests whose cost is not known. */
  unknownUsd: Usd;
}

export interface AdminBackendFigures {
  name: string;
  state: BackendState;
  isPaused: boolean;
  hasFailedTest: boolean;
  /** Calls of the sample, and those of them that failed. */
  calls: number;
  failures: number;
  /** Null: no completed request. */
  firstByteMs: { p50: number; p95: number } | null;
  durationMs: { p50: number; p95: number } | null;
}

/** What the operator should look at, the most urgent first. */
export interface AdminAttention {
  items: AttentionItem[];
  at: Millis;
}

export type AttentionItem = { urgency: 'high' | 'low' } & AttentionSubject;

export type AttentionSubject =
  | { kind: 'catalog_rejected'; error: string }
  | { kind: 'ledger_breach'; rules: string }
  /** `reason`: the kind of the last failure. */
  | { kind: 'backend_down'; backend: string; reason: string | null }
  | { kind: 'backend_key_refused'; backend: string }
  | { kind: 'backend_out_of_credit'; backend: string }
  | { kind: 'backend_unusable'; backend: string; problem: string }
  | { kind: 'backend_test_failed'; backend: string }
  | { kind: 'backend_paused'; backend: string }
  | { kind: 'certificate_ends'; at: Millis }
  | { kind: 'settlements_waiting'; count: number }
  /** Over seven days. */
  | { kind: 'margin_below_zero'; by: 'model' | 'backend'; key: string; lossUsd: Usd }
  /** `more`: further accounts of which the same is true. */
  | { kind: 'balance_empty'; accountId: string; email: string; more: number }
  | { kind: 'balance_ends'; accountId: string; email: string; balanceUsd: Usd; perDayUsd: Usd; more: number }
  | { kind: 'payments_failed'; count: number }
  | { kind: 'payment_problems'; count: number }
  | { kind: 'messages_failed'; count: number; channel: 'mail' | 'webhook' }
  | { kind: 'webhook_paused'; url: string }
  | { kind: 'webhook_secret_ends'; url: string; at: Millis }
  /** Over 24 hours. */
  | { kind: 'calls_refused'; reason: string; count: number }
  | { kind: 'invites_end'; count: number; at: Millis }
  | { kind: 'codes_end'; count: number; batch: string; at: Millis };

export type TrafficRange = 'hour' | 'today' | 'week';
export type TrafficMeasure = 'requests' | 'charged';

/** From clients to endpoints, models and backends; of each the largest, and all others together. */
export interface AdminTraffic {
  range: TrafficRange;
  measure: TrafficMeasure;
  columns: TrafficColumn[];
  links: TrafficLink[];
  /** How clients share the traffic comes from a part of the requests. */
  isEstimated: boolean;
  at: Millis;
}

export interface TrafficColumn {
  kind: 'client' | 'endpoint' | 'model' | 'backend';
  /** The largest first. */
  nodes: TrafficNode[];
}

export interface TrafficNode {
  id: string;
  /** Empty: a client that did not tell, no backend that was asked, or several. */
  name: string;
  /** How many others this stands for; 0: it is one itself. */
  others: number;
  requests: number;
  failures: number;
  chargedUsd: Usd;
  health: TrafficHealth;
  /** Of a model: the endpoint through which most of it is used. */
  endpoint: string | null;
}

/** `failing`: many errors, or a backend that gets nothing for now; `paused`: by the operator. */
export type TrafficHealth = 'healthy' | 'errors' | 'failing' | 'paused';

export interface TrafficLink {
  from: string;
  to: string;
  requests: number;
  chargedUsd: Usd;
}
