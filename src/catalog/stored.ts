import { allowing, consoleRules, type EnteredKey, type Environment, type KeyRules } from './key-rules.ts';
import type { Kysely } from 'kysely';
import type { Clock } from '../std/clock.ts';
import { Fault } from '../std/fault.ts';
import type { Log } from '../std/log.ts';
import type { Schema } from '../store/schema.ts';
import { type Catalog, type CatalogSource, type CatalogStatus, LiveCatalog } from './catalog.ts';
import { pricesBelowCost, type PriceBelowCost } from './below-cost.ts';
import { catalogChanges, type CatalogChange } from './diff.ts';
import type { FileSettings } from './file-schema.ts';
import { CatalogError, type Mistake } from './mistakes.ts';
import { CatalogDrafts, type CatalogDraft } from './draft/drafts.ts';
import { storedText } from './catalog-data.ts';
import { builtCatalog, canonicalText, inspectCatalog, parseCatalog, type InspectedCatalog } from './parse.ts';
import { ProviderKeys, type ProviderKey } from './provider-keys.ts';
import { CatalogVersions, type CatalogVersion, type CatalogVersionDetail } from './versions.ts';
import { createHash } from 'node:crypto';
import { shownYaml } from './yaml-text.ts';
import { MAX_YAML_CHARACTERS } from './yaml-source.ts';

export interface StoredCatalogOptions {
  readonly db: Kysely<Schema>;
  /** The store's: waits until a save is durable. */
  readonly durable: () => Promise<void>;
  /** From `deriveSealingKey`. */
  readonly sealingKey: Uint8Array;
  readonly builtin: (env: Environment) => string;
  readonly env: Environment;
  readonly settings?: FileSettings | undefined;
  readonly log: Log;
  readonly clock: Clock;
  /** Throws while a server that does not know price groups is running: it would refuse the catalog, and keep an old one. */
  readonly requireGroups?: (() => Promise<void>) | undefined;
  /** How often to poll for a newer version. */
  readonly pollMs?: number | undefined;
}

interface Proposal {
  readonly ok: boolean;
  readonly mistakes: readonly Mistake[];
  /** Compared with the catalog in force; empty if nothing would change. */
  readonly changes: readonly CatalogChange[];
  readonly belowCost: readonly PriceBelowCost[];
}

type SaveResult =
  | { readonly kind: 'saved'; readonly version: number }
  /** `version` was saved in the meantime: show it and let the editor decide. */
  | { readonly kind: 'conflict'; readonly version: number }
  | { readonly kind: 'invalid'; readonly mistakes: readonly Mistake[] };

/** Opens the catalog in the store, or throws if its newest version cannot be used on this node. */
export async function openStoredCatalog(options: StoredCatalogOptions): Promise<StoredCatalog> {
  const versions = new CatalogVersions(options.db, options.clock);
  const keys = new ProviderKeys(options.db, options.sealingKey, options.clock);
  const first = await readStored(options, versions, keys);
  return new StoredCatalog(options, { versions, keys, first, catalog: first.parse() });
}

const POLL_MS = 2000;
const MAX_NOTE = 500;
const MAX_KNOWN_CHANGES = 100;
const CONVERTED = 'Stored as data; comments are in the version before';
const TOO_LONG: Mistake = {
  line: 0,
  column: 0,
  path: '',
  message: `is longer than ${MAX_YAML_CHARACTERS} characters as JSON`,
};

/**
 * Until the first save it is the built-in catalog, computed at every start and whenever a provider key is added or
 * removed. After that it is the newest row of `catalog_version`. Every node polls every two seconds.
 */
export class StoredCatalog implements CatalogSource {
  readonly current: () => Catalog;
  readonly drafts: CatalogDrafts;
  readonly #options: StoredCatalogOptions;
  readonly #versions: CatalogVersions;
  readonly #keys: ProviderKeys;
  readonly #live: LiveCatalog;
  #newest: Stored;
  /** The last draft that somebody looked at: pages ask for it again and again. */
  #inspected:
    | { readonly text: string; readonly stored: Stored; readonly result: InspectedCatalog }
    | undefined;
  /** Of versions whose history somebody looked at. */
  readonly #changes = new Map<number, readonly CatalogChange[]>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #closed = false;
  #unreachable = false;

  constructor(
    options: StoredCatalogOptions,
    parts: { versions: CatalogVersions; keys: ProviderKeys; first: Stored; catalog: Catalog },
  ) {
    this.#options = options;
    this.#versions = parts.versions;
    this.#keys = parts.keys;
    this.#newest = parts.first;
    const { log, clock } = options;
    this.drafts = new CatalogDrafts(options.db, clock);
    this.#live = new LiveCatalog(parts.catalog, { kind: 'store', path: undefined, log, clock });
    this.current = this.#live.current;
    this.#schedule();
  }

  onChange(listener: (catalog: Catalog) => void): () => void {
    return this.#live.onChange(listener);
  }

  status(): CatalogStatus {
    return this.#live.status();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  /**
   * What an editor starts from: the newest content, even one that this node refused. Version 0 is the built-in catalog.
   */
  newest(): Pick<Stored, 'version' | 'json' | 'yaml'> {
    return this.#newest;
  }

  /** Of what is published; see {@link CatalogDrafts}. */
  async draft(owner: string): Promise<CatalogDraft | undefined> {
    const draft = await this.drafts.read(owner);
    const { version, json } = this.#newest;
    if (!draft || draft.base === json) return draft;
    const base = canonicalText(draft.base);
    return { ...draft, base, revision: base === json ? version : draft.revision };
  }

  /**
   * The catalog that a text would be, with the keys that this node has, and one that is not stored yet; throws a
   * {@link CatalogError}.
   */
  parse(text: string, entered?: EnteredKey): Catalog {
    const { env, rules } = this.#newest;
    const { settings } = this.#options;
    if (!entered)
      return builtCatalog(text, this.inspect(text), { fileName: 'catalog', env, rules, settings });
    const options = {
      fileName: 'catalog',
      env: { ...env, [entered.name]: entered.value },
      rules: allowing(entered.name, rules),
      settings,
    };
    return builtCatalog(text, inspectCatalog(text, options), options);
  }

  /** A text with its mistakes, for pages that show a draft that cannot be published yet. */
  inspect(text: string): InspectedCatalog {
    const { env, rules } = this.#newest;
    const last = this.#inspected;
    if (last?.text === text && last.stored === this.#newest) return last.result;
    const result = inspectCatalog(text, { env, rules, settings: this.#options.settings });
    this.#inspected = { text, stored: this.#newest, result };
    return result;
  }

  /** Checks a text and returns what it would change; stores nothing. */
  propose(text: string): Proposal {
    try {
      const catalog = this.parse(text);
      const changes = catalogChanges(this.current(), catalog);
      return { ok: true, mistakes: [], changes, belowCost: pricesBelowCost(catalog) };
    } catch (error) {
      if (!(error instanceof CatalogError)) throw error;
      return { ok: false, mistakes: error.mistakes, changes: [], belowCost: [] };
    }
  }

  /** Makes this text the catalog of every node, unless it is invalid or another was saved since `expectedVersion`. */
  async save(text: string, actor: string, note: string, expectedVersion: number): Promise<SaveResult> {
    await this.refresh();
    const { mistakes, data, built } = this.inspect(text);
    if (mistakes.length > 0 || !data) return { kind: 'invalid', mistakes };
    if (built?.catalog.groups?.size) await this.#options.requireGroups?.();
    const json = storedText(data);
    // Quotes make it longer than the YAML was.
    if (json.length > MAX_YAML_CHARACTERS) return { kind: 'invalid', mistakes: [TOO_LONG] };
    const row = { text: json, actor, note: note.slice(0, MAX_NOTE) };
    // So that the history of the first edit shows what it changed.
    const builtin = canonicalText(this.#options.builtin(this.#newest.env));
    const origin = { text: builtin, actor: 'tollgate', note: 'Built-in catalog' };
    const version = await this.#versions.add(expectedVersion === 0 ? [origin, row] : [row], expectedVersion);
    await this.#options.durable();
    await this.refresh();
    return version === undefined
      ? { kind: 'conflict', version: this.#newest.version }
      : { kind: 'saved', version };
  }

  /**
   * A catalog that an older version has stored as YAML becomes data, once, as a version of its own: the one before it
   * keeps its text with the comments. Another node may do the same, or save a catalog meanwhile, and then this is void.
   */
  async convert(): Promise<void> {
    const { version, text, json } = this.#newest;
    if (version === 0 || text === json) return;
    await this.#versions.add([{ text: json, actor: 'tollgate', note: CONVERTED }], version);
    await this.#options.durable();
    await this.refresh();
  }

  history(page?: { before?: number | undefined; limit?: number | undefined }): Promise<CatalogVersion[]> {
    return this.#versions.list(page);
  }

  at(id: number): Promise<CatalogVersionDetail | undefined> {
    return this.#versions.at(id);
  }

  /**
   * What a version changed, compared with the one before it; `undefined`: it is the first, or one of the two can no
   * longer be read. Both never change, so it is found out once.
   */
  async changesAt(id: number): Promise<readonly CatalogChange[] | undefined> {
    const known = this.#changes.get(id);
    if (known) return known;
    const [previous] = await this.#versions.list({ before: id, limit: 1 });
    if (!previous) return undefined;
    const [before, after] = await Promise.all([this.#pastCatalog(previous.id), this.#pastCatalog(id)]);
    if (!before || !after) return undefined;
    const changes = catalogChanges(before, after);
    const [oldest] = this.#changes.keys();
    if (oldest !== undefined && this.#changes.size >= MAX_KNOWN_CHANGES) this.#changes.delete(oldest);
    this.#changes.set(id, changes);
    return changes;
  }

  /** As far as it can be read now; a key that is gone since counts as a value of its own. */
  async #pastCatalog(id: number): Promise<Catalog | undefined> {
    const text = (await this.#versions.at(id))?.text ?? '';
    const names = [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name);
    const gone = names.map((name) => [name, createHash('sha256').update(name).digest('hex')]);
    const env = { ...Object.fromEntries(gone), ...this.#newest.env } as Environment;
    const { built } = inspectCatalog(text, { env, settings: this.#options.settings, withheld: 'block' });
    return built && { version: String(id), ...built.catalog };
  }

  listProviderKeys(): Promise<ProviderKey[]> {
    return this.#keys.list();
  }

  /** The key is sent to `host` and to no other server. */
  async setProviderKey(name: string, value: string, host: string): Promise<ProviderKey> {
    const key = await this.#keys.set(name, value, host);
    await this.#options.durable();
    await this.refresh();
    return key;
  }

  /** False if there was none. A key stays as long as the catalog refers to it. */
  async removeProviderKey(name: string): Promise<boolean> {
    await this.refresh();
    if (this.#newest.version > 0 && this.#newest.json.includes(`\${${name}}`)) {
      throw new Fault('invalid_field', `The catalog refers to \${${name}}; change it first.`, {
        param: 'name',
      });
    }
    const removed = await this.#keys.remove(name);
    await this.refresh();
    return removed;
  }

  /**
   * Looks for newer content now. One refresh at a time; each sees everything that was committed before it was
   * requested.
   */
  refresh(): Promise<void> {
    this.#looking = this.#looking.catch(() => undefined).then(() => this.#look());
    return this.#looking;
  }

  async #look(): Promise<void> {
    const stored = await readStored(this.#options, this.#versions, this.#keys, this.#newest);
    if (stored === this.#newest) return;
    this.#newest = stored;
    try {
      this.#live.replace(stored.parse());
    } catch (error) {
      this.#live.refuse(error);
    }
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => void this.#poll(), this.#options.pollMs ?? POLL_MS);
    this.#timer.unref();
  }

  async #poll(): Promise<void> {
    try {
      await this.refresh();
      this.#unreachable = false;
    } catch (error) {
      // The catalog in force stays; only the first of several failures is logged.
      if (!this.#unreachable && !this.#closed) this.#options.log.warn('catalog_poll_failed', { error });
      this.#unreachable = true;
    }
    this.#schedule();
  }
}

interface Stored {
  readonly version: number;
  /** Which keys exist and when each was changed. */
  readonly keyMark: string;
  /** As it is stored, or built in. */
  readonly text: string;
  /** The same as data. */
  readonly json: string;
  /** The same for people. */
  readonly yaml: string;
  readonly env: Environment;
  readonly rules: KeyRules;
  parse(): Catalog;
}

/** The newest content; `known` itself if nothing is newer, which costs two small queries. */
async function readStored(
  { builtin, env, settings, log }: StoredCatalogOptions,
  versions: CatalogVersions,
  keys: ProviderKeys,
  known?: Stored,
): Promise<Stored> {
  const version = await versions.newestId();
  const keyMark = (await keys.list()).map(({ name, updatedAt }) => `${name}=${updatedAt}`).join();
  if (known?.version === version && known.keyMark === keyMark) return known;
  const { values, origins, unreadable } = await keys.open();
  if (unreadable.length > 0) log.warn('provider_keys_unreadable', { names: unreadable });
  const all = { ...env, ...values };
  const text = version === 0 ? builtin(all) : ((await versions.at(version))?.text ?? '');
  const json = canonicalText(text);
  let yaml: string | undefined;
  const fileName = version === 0 ? 'built-in catalog' : `catalog version ${version}`;
  const rules = consoleRules(origins, env);
  const parse = (): Catalog => {
    const catalog = parseCatalog(text, { fileName, env: all, rules, settings, withheld: 'block' });
    for (const { name, problem } of catalog.upstreams.values())
      if (problem !== undefined) log.warn('provider_key_withheld', { upstream: name, reason: problem });
    return catalog;
  };
  return {
    version,
    keyMark,
    text,
    json,
    get yaml() {
      return (yaml ??= shownYaml(json));
    },
    env: all,
    rules,
    parse,
  };
}
