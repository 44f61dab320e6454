import type { AdminProviderKey } from './admin.ts';
import type { Millis, Usd } from './shared.ts';

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
  /** What the draft says instead; null: the same. */
  draft: { input: Usd; output: Usd } | null;
  /** What the most expensive of its backends charges; null: not known. */
  cost: { input: Usd; output: Usd } | null;
}

/** What an operator works on and has not published yet; each has one. */
export interface AdminCatalogDraft {
  draft: {
    yaml: string;
    /** Changes with each save; sent back with the next one. */
    tag: number;
    savedAt: Millis;
    /** The version that it began with; sent along when it is published. */
    revision: number;
    /** Another version was published since: the draft must be merged with it or discarded. */
    isOutdated: boolean;
  } | null;
}

export interface AdminMergedDraft extends AdminCatalogDraft {
  /** What both have changed, each to something else; if there are any, nothing was merged. */
  conflicts: string[];
}

/** A backend as the draft has it, or as it is published where there is no draft. */
export interface AdminBackendDetail {
  name: string;
  kind: string;
  preset: string | null;
  /** As it was written; null: `usualAddress`. */
  baseUrl: string | null;
  usualAddress: string | null;
  /** The server that its keys are sent to; null: it takes none. */
  origin: string | null;
  keys: AdminBackendKey[];
  /** Stored for the same server, and not used. */
  spareKeys: AdminProviderKey[];
  /** A name for one more key. */
  nextKeyName: string;
  /** False: it is in the draft alone. */
  isPublished: boolean;
  endpoints: AdminBackendEndpoint[];
  /** Others that it could serve too. */
  otherEndpoints: AdminBackendEndpoint[];
  models: AdminBackendModel[];
  /** What would go, or change, with it. */
  references: {
    sharedEndpoints: string[];
    ownEndpoints: string[];
    ownLists: string[];
    aliases: string[];
    details: string[];
  };
}

export interface AdminBackendKey {
  name: string;
  /** Of a stored key; null: it is in the environment, or nowhere. */
  hint: string | null;
  source: 'stored' | 'environment' | 'missing';
}

export interface AdminBackendEndpoint {
  code: string;
  name: string;
  type: string;
  lists: string[];
  /** Tried in order; those of one place share by weight. */
  places: { upstream: string; weight: number }[][];
  /** The cheapest goes first, whatever the order says. */
  sortsByPrice: boolean;
}

export interface AdminBackendModel {
  list: string;
  model: string;
  name: string;
  /** Per million tokens; null: it is not sold by the token. */
  price: { input: Usd; output: Usd } | null;
  isFree: boolean;
  /** What this backend charges for it; null: not known. */
  cost: { input: Usd; output: Usd } | null;
}
