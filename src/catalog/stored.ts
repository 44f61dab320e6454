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
import { storedText, type CatalogMap } from './catalog-data.ts';
import {
  CatalogPlans,
  KNOWN_MS,
  LEAD_MS,
  MAX_AHEAD_MS,
  overBuiltin,
  priceChanges,
  rebased,
  type CatalogPlan,
  type PriceChange,
} from './plans.ts';
import { builtCatalog, canonicalText, inspectCatalog, parseCatalog, type InspectedCatalog } from './parse.ts';
import { ProviderKeys, type ProviderKey } from './provider-keys.ts';
import {
  CatalogVersions,
  type CatalogVersion,
  type CatalogVersionDetail,
  type NewVersion,
} from './versions.ts';
import { createHash } from 'node:crypto';
import { shownYaml } from './yaml-text.ts';
import { MAX_YAML_CHARACTERS } from './yaml-source.ts';

export interface StoredCatalogOptions {
  readonly db: Kysely<Schema>;
  /** The store's: waits until a save is durable. */
  readonly durable: () => Promise<void>;
  readonly sealingKey: Uint8Array;
  readonly builtin: (env: Environment) => string;
  readonly env: Environment;
  readonly settings?: FileSettings | undefined;
  readonly log: Log;
  readonly clock: Clock;
  /** Throws while a server that does not know price groups is running: it would refuse the catalog, and keep an old one. */
  readonly requireGroups?: (() => Promise<void>) | undefined;
  /** The store's clock, where that is not `clock`. */
  readonly now?: (() => Promise<number>) | undefined;
  /** How far ahead a change of prices must be planned at least. */
  readonly leadMs?: number | undefined;
  /** How often to poll for a newer version. */
  readonly pollMs?: number | undefined;
}

interface Proposal {
  readonly ok: boolean;
  readonly mistakes: readonly Mistake[];
  /** Compared with the catalog in force; empty if nothing would change. */
  readonly changes: readonly CatalogChange[];
  readonly belowCost: readonly PriceBelowCost[];
  /** The names of its price groups. */
  readonly groups: readonly string[];
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
  const stored = new StoredCatalog(options, { versions, keys, first, catalog: first.parse() });
  try {
    await stored.refresh();
  } catch (error) {
    stored.close();
    throw error;
  }
  return stored;
}

const POLL_MS = 2000;
const MAX_NOTE = 500;
const MAX_KNOWN_CHANGES = 100;
/** How often a save begins again because a plan was made, changed or cancelled in between. */
const MAX_SAVES = 3;
const MOST_NAMED = 10;
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
  readonly plans: CatalogPlans;
  readonly #options: StoredCatalogOptions;
  readonly #versions: CatalogVersions;
  readonly #keys: ProviderKeys;
  readonly #live: LiveCatalog;
  #newest: Stored;
  /** The last draft that somebody looked at: pages ask for it again and again. */
  #inspected:
    | { readonly text: string; readonly stored: Stored; readonly result: InspectedCatalog }
    | undefined;
  /** The changes of versions that somebody has looked at. */
  readonly #changes = new Map<number, readonly CatalogChange[]>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  /** The look that begins when the running one is over: it serves all who ask until then. */
  #nextLook: Promise<void> | undefined;
  #plan: CatalogPlan | undefined;
  /** The end of what is known, by the store's clock; nothing before the first look. */
  #validUntil = 0;
  /** The store's clock as it was read last, and this process's own time before it was. */
  #read = { now: 0, at: 0 };
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
    this.plans = new CatalogPlans(options.db);
    this.#live = new LiveCatalog(this.#dated(parts.catalog), { kind: 'store', path: undefined, log, clock });
    this.current = this.#live.current;
    this.#schedule();
  }

  onChange(listener: (catalog: Catalog) => void): () => void {
    return this.#live.onChange(listener);
  }

  status(): CatalogStatus {
    return this.#live.status();
  }

  async inForce(): Promise<Catalog> {
    if (this.#plan && this.#latestNow() >= this.#plan.from) await this.refresh();
    return this.current();
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

  /** A draft of what is published; see {@link CatalogDrafts}. */
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
      const groups = [...(catalog.groups?.keys() ?? [])];
      return { ok: true, mistakes: [], changes, belowCost: pricesBelowCost(catalog), groups };
    } catch (error) {
      if (!(error instanceof CatalogError)) throw error;
      return { ok: false, mistakes: error.mistakes, changes: [], belowCost: [], groups: [] };
    }
  }

  /** Makes this text the catalog of every node, unless it is invalid or another was saved since `expectedVersion`. */
  async save(text: string, actor: string, note: string, expectedVersion: number): Promise<SaveResult> {
    for (let saves = 1; ; saves++) {
      await this.refresh();
      const checked = this.#checked(text);
      if ('kind' in checked) return checked;
      if (checked.hasGroups) await this.#options.requireGroups?.();
      const plan = this.#plan && this.#onTop(this.#plan, checked.data);
      const row = { text: checked.json, actor, note: note.slice(0, MAX_NOTE) };
      const version = await this.#versions.add([...this.#origin(expectedVersion), row], expectedVersion, {
        begin: (tx) => this.plans.follow(tx, plan),
      });
      await this.#options.durable();
      await this.refresh();
      if (version !== undefined) return { kind: 'saved', version };
      const { version: newest } = this.#newest;
      if (newest !== expectedVersion || saves === MAX_SAVES) return { kind: 'conflict', version: newest };
    }
  }

  /** Makes this text the catalog of every node from a moment on, and says so to those who buy. Throws what is wrong with the moment. */
  async planFor(from: number, { text, actor, note, version }: PlannedText): Promise<PlanResult> {
    await this.refresh();
    const now = await this.#now();
    const { leadMs = LEAD_MS } = this.#options;
    if (from < now + leadMs || from > now + MAX_AHEAD_MS)
      throw new Fault('invalid_field', 'from must be at least a minute, and at most a year, from now.', {
        param: 'from',
      });
    const checked = this.#checked(text);
    if ('kind' in checked) return checked;
    if (version !== this.#newest.version) return { kind: 'conflict', version: this.#newest.version };
    const { json: base } = this.#newest;
    if (checked.json === base)
      throw new Fault('invalid_field', 'This is what is published: nothing would change.', { param: 'yaml' });
    if (this.#plan) throw alreadyPlanned(this.#plan);
    await this.#options.requireGroups?.();
    const plan = { from, madeAt: now, actor, note: note.slice(0, MAX_NOTE), text: checked.json, base };
    const planned = await this.#versions.add(this.#origin(version), version, {
      begin: (tx) => this.plans.add(tx, plan),
    });
    await this.#options.durable();
    await this.refresh();
    if (planned !== undefined) return { kind: 'planned' };
    if (this.#plan) throw alreadyPlanned(this.#plan);
    return { kind: 'conflict', version: this.#newest.version };
  }

  /** The plan that waits for its moment, if there is one. */
  plan(): CatalogPlan | undefined {
    return this.#plan;
  }

  /** What it was; `undefined`: it was published or cancelled already, or never was. */
  async cancelPlan(id: number, actor: string): Promise<CatalogPlan | undefined> {
    // What is due is published, not cancelled.
    await this.refresh();
    const plan = this.#plan;
    if (plan?.id !== id || !(await this.plans.cancel(id, { actor, now: await this.#now() })))
      return undefined;
    await this.#options.durable();
    await this.refresh();
    return plan;
  }

  /** The price changes of a plan for customers; `undefined`: this node cannot read it. */
  changesOf({ base, text }: Pick<CatalogPlan, 'base' | 'text'>, group?: string): PriceChange[] | undefined {
    const [before, after] = [this.#readable(base), this.#readable(text)];
    return before && after && priceChanges(before, after, group);
  }

  /** So that the history of the first edit shows what it changed. */
  #origin(expectedVersion: number): readonly NewVersion[] {
    if (expectedVersion !== 0) return [];
    const text = canonicalText(this.#options.builtin(this.#newest.env));
    return [{ text, actor: 'tollgate', note: 'Built-in catalog' }];
  }

  #checked(text: string): CheckedText | (SaveResult & { kind: 'invalid' }) {
    const { mistakes, data, built } = this.inspect(text);
    if (mistakes.length > 0 || !data) return { kind: 'invalid', mistakes };
    const json = storedText(data);
    // Quotes make it longer than the YAML was.
    if (json.length > MAX_YAML_CHARACTERS) return { kind: 'invalid', mistakes: [TOO_LONG] };
    return { data, json, hasGroups: (built?.catalog.groups?.size ?? 0) > 0 };
  }

  /** The plan with what is published now. What was announced stays: where it would not, the publication is refused. */
  #onTop(plan: CatalogPlan, published: CatalogMap): CatalogPlan {
    const moved = rebased(plan, published);
    const conflicts = 'conflicts' in moved ? moved.conflicts : this.#brokenPromises(plan, moved);
    if ('conflicts' in moved || conflicts.length > 0)
      throw new Fault(
        'conflict',
        `This does not fit the change that is planned for ${timeText(plan.from)}: ${conflicts.slice(0, MOST_NAMED).join(', ')}. Cancel that first.`,
      );
    return moved;
  }

  /** The models that would not cost what customers were told. */
  #brokenPromises(plan: CatalogPlan, moved: CatalogPlan): readonly string[] {
    const [before, planned, after] = [plan.base, plan.text, moved.text].map((text) => this.#readable(text));
    if (!after) return ['it would not be a catalog any more'];
    if (!before || !planned) return [];
    return [undefined, ...(planned.groups?.keys() ?? [])].flatMap((group) => {
      const nameOf = ({ endpoint, model }: PriceChange): string =>
        `${endpoint}/${model}${group === undefined ? '' : ` for ${group}`}`;
      const announced = new Set(priceChanges(before, planned, group).map(nameOf));
      return priceChanges(planned, after, group)
        .map(nameOf)
        .filter((name) => announced.has(name));
    });
  }

  #readable(text: string): Catalog | undefined {
    try {
      return this.parse(text);
    } catch (error) {
      if (!(error instanceof CatalogError)) throw error;
      return undefined;
    }
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
    const isNamed = (text: string | undefined): boolean => text?.includes(`\${${name}}`) === true;
    const refuse = (what: string): Fault =>
      new Fault('invalid_field', `${what} refers to \${${name}}; change it first.`, { param: 'name' });
    if (this.#newest.version > 0 && isNamed(this.#newest.json)) throw refuse('The catalog');
    if (isNamed(this.#plan?.text)) throw refuse('What is planned');
    const removed = await this.#keys.remove(name);
    await this.refresh();
    return removed;
  }

  /**
   * Looks for newer content now. One refresh at a time; each sees everything that was committed before it was
   * requested.
   */
  refresh(): Promise<void> {
    if (this.#nextLook) return this.#nextLook;
    const look = this.#looking
      .catch(() => undefined)
      .then(() => {
        this.#nextLook = undefined;
        return this.#look();
      });
    this.#nextLook = look;
    this.#looking = look;
    return look;
  }

  async #look(): Promise<void> {
    const at = performance.now();
    // First: what is read after it is at least as new.
    const now = await this.#now();
    let plan = await this.plans.waiting();
    if (plan && plan.from <= now) {
      await this.#publish(plan);
      plan = await this.plans.waiting();
    }
    const stored = await readStored(this.#options, this.#versions, this.#keys, this.#newest);
    plan = plan && overBuiltin(plan, stored);
    // Nothing waits from here on: what is sold, and until when, change together.
    const isSame = stored === this.#newest && plan?.id === this.#plan?.id && plan?.tag === this.#plan?.tag;
    this.#newest = stored;
    this.#plan = plan;
    this.#read = { now, at };
    this.#validUntil = Math.min(plan?.from ?? Number.POSITIVE_INFINITY, now + KNOWN_MS);
    if (isSame) return;
    try {
      this.#live.replace(this.#dated(stored.parse()));
    } catch (error) {
      this.#live.refuse(error);
    }
  }

  /** Publishes a plan that is due; the first node that comes does it. */
  async #publish(plan: CatalogPlan): Promise<void> {
    const expected = await this.#versions.newestId();
    const { text, actor, note } = overBuiltin(plan, this.#newest);
    const now = await this.#now();
    await this.#versions.add([...this.#origin(expected), { text, actor, note }], expected, {
      begin: (tx) => this.plans.publish(tx, plan, now),
      end: (tx, version) => this.plans.publishedAs(tx, plan, version),
    });
    await this.#options.durable();
  }

  /** The catalog with the plan that follows it. Once another catalog has replaced it, it is valid no longer. */
  #dated(catalog: Catalog): Catalog {
    const planned = this.#plan && this.#readable(this.#plan.text);
    if (this.#plan && !planned) this.#options.log.warn('catalog_plan_unreadable', { from: this.#plan.from });
    const version = this.#plan ? `${catalog.version}+${this.#plan.id}.${this.#plan.tag}` : catalog.version;
    const next = this.#plan && planned && { from: this.#plan.from, catalog: planned };
    const validUntil = () => (this.#live.current().version === version ? this.#validUntil : 0);
    return { ...catalog, version, next, validUntil };
  }

  #now(): Promise<number> {
    return this.#options.now?.() ?? Promise.resolve(this.#options.clock.now());
  }

  /** The store's clock is not later than this. */
  #latestNow(): number {
    return this.#read.now + performance.now() - this.#read.at;
  }

  #schedule(): void {
    if (this.#closed) return;
    // At the moment itself where something is planned.
    const { pollMs = POLL_MS } = this.#options;
    const planMs = this.#plan ? Math.max(0, this.#plan.from - this.#latestNow()) + 1 : pollMs;
    this.#timer = setTimeout(() => void this.#poll(), Math.min(pollMs, planMs));
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

interface PlannedText {
  readonly text: string;
  readonly actor: string;
  readonly note: string;
  /** The version that the editor started from. */
  readonly version: number;
}

type PlanResult = Exclude<SaveResult, { kind: 'saved' }> | { readonly kind: 'planned' };

interface CheckedText {
  readonly data: CatalogMap;
  readonly json: string;
  readonly hasGroups: boolean;
}

function alreadyPlanned({ from }: CatalogPlan): Fault {
  return new Fault('conflict', `A change is planned for ${timeText(from)} already. Cancel it first.`);
}

function timeText(at: number): string {
  return new Date(at).toISOString();
}

interface Stored {
  readonly version: number;
  /** Which keys exist and when each was changed. */
  readonly keyMark: string;
  /** The text that is stored, or built in. */
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
      if (problem !== undefined) log.warn('provider_key_withheld', { backend: name, reason: problem });
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
