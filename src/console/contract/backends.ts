import type { BackendState } from './admin.ts';
import type { Millis, Usd } from './shared.ts';

export interface AdminBackend {
  name: string;
  kind: string;
  baseUrl: string | null;
  state: BackendState;
  /** Why it is not asked at all: its key is for another host. Then `state` is `open`. */
  problem: string | null;
  /** It gets no new requests. */
  paused: boolean;
  /** The latest test call failed, and nothing has succeeded since. */
  testFailed: boolean;
  /** Models that are not asked for now, and when they will be again. */
  resting: AdminRestingModel[];
  /** Fields of Tollgate's own that it refused, and what it gets instead since then; null: nothing. */
  learned: { model: string; field: string; instead: string | null }[];
  /** On this node since it started. */
  requests: number;
  failures: number;
  /** `failures / requests`; null: no traffic yet. */
  errorRate: number | null;
  /** Smoothed over the latest requests. */
  firstByteMs: number | null;
  lastError: { at: Millis; message: string } | null;
  endpoints: string[];
}

export interface AdminRestingModel {
  model: string;
  /** Which of several keys rests, from 1; null: the only one. */
  key: number | null;
  /** The only account for which it rests; null: for all. */
  account: string | null;
  until: Millis;
}

export interface AdminBackendTest {
  ok: boolean;
  detail: string;
  latencyMs: number;
}

export interface AdminProviders {
  items: AdminProvider[];
  /** Servers that answer on this machine. */
  local: { name: string; title: string; host: string; models: number; isAdded: boolean }[];
}

export interface AdminProvider {
  /** Of the preset or kind, and of the backend that is made of it. */
  name: string;
  title: string;
  host: string;
  /** The server that its key is for. */
  origin: string;
  /** The variable with the key; null: it needs none. */
  keyName: string | null;
  hasKey: boolean;
  isAdded: boolean;
}

/** A small streamed request to a backend that is only in a draft. */
export interface AdminBackendTrial {
  ok: boolean;
  /** What is wrong, or empty. */
  detail: string;
  /** The words of the answer. */
  text: string;
  durationMs: number;
  inputTokens: number | null;
  outputTokens: number | null;
  cost: Usd;
}

export interface AdminPrices {
  items: AdminPriceRow[];
}

/** A model that is sold by the token; amounts are for a million of them. */
export interface AdminPriceRow {
  list: string;
  model: string;
  name: string;
  input: Usd;
  output: Usd;
  /** What the dearest of its backends takes; null: nobody knows. */
  cost: { input: Usd; output: Usd } | null;
}

/** To be saved with `revision`. */
export interface AdminPriceDraft {
  yaml: string;
  revision: number;
}
