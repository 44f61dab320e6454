import { upstreamOrigin } from '../catalog/address.ts';
import type { Catalog, UpstreamConfig } from '../catalog/catalog.ts';
import type { Clock } from '../std/clock.ts';
import { hideFromLogs, type Log } from '../std/log.ts';
import { FIRST_OPEN_MS, MAX_COOLDOWN_MS } from './breaker.ts';
import { hideServerFromCustomers } from './customer-text.ts';
import { makeUpstream, type BuiltInKinds } from './make-upstream.ts';
import type {
  AttemptResult,
  LearnedField,
  UpstreamTarget,
  Upstream,
  UpstreamHealth,
  UpstreamPermit,
  UpstreamPool,
  UpstreamWait,
} from './port.ts';
import { TargetHealth, type HealthState, type Rest } from './target-health.ts';

export interface UpstreamStatus {
  readonly name: string;
  readonly kind: string;
  /** `resting` or `probing` if all of its models that were used are. */
  readonly state: HealthState;
  readonly requests: number;
  readonly failures: number;
  readonly lastFailure: { readonly at: number; readonly reason: string } | undefined;
  /** The latest test call failed, and nothing has succeeded since. */
  readonly hasFailedTest: boolean;
  /** Smoothed over the latest requests. */
  readonly firstByteMs: number | undefined;
  readonly resting: readonly RestingModel[];
  /** Fields of ours that it refused and does not get any more. */
  readonly learned: readonly LearnedField[];
}

/** A model that is not called for now. */
interface RestingModel extends Rest {
  /** The backend's own name of the model. */
  readonly model: string;
  /** From 1, in the order of the catalog; `undefined` where the backend has a single key. */
  readonly key: number | undefined;
}

interface PoolMember {
  readonly config: UpstreamConfig;
  readonly keys: readonly MemberKey[];
  /** The models in use, by the backend's own names; as many as the catalog has. */
  readonly usedModels: Set<string>;
  /** Counts admissions, to let the keys take turns. */
  admitted: number;
  requests: number;
  failures: number;
  lastFailure: UpstreamStatus['lastFailure'];
  hasFailedTest: boolean;
  firstByteMs: number | undefined;
}

/** The backend with one of its keys: each has limits of its own at the provider, and rests alone. */
interface MemberKey {
  readonly upstream: Upstream;
  /** By the backend's own name of the model; only models that have failed, so that the others cost nothing. */
  readonly models: Map<string, TargetHealth>;
}

/** Weight of the newest latency in the smoothed one. */
const SMOOTHING = 0.1;

/**
 * The backends of the current catalog, with the health of each model. A backend whose configuration did not change is
 * kept.
 */
export class Pool implements UpstreamPool {
  readonly #shared: SharedParts;
  readonly #builtIn: BuiltInKinds;
  readonly #log: Log | undefined;
  #members = new Map<string, PoolMember>();

  constructor(catalog: Catalog, clock: Clock, builtIn: BuiltInKinds, log?: Log) {
    this.#log = log;
    this.#shared = { clock, budget: new RetryBudget() };
    this.#builtIn = builtIn;
    this.use(catalog);
  }

  /** Running requests keep their backend. */
  use(catalog: Catalog): void {
    const next = new Map<string, PoolMember>();
    for (const [name, config] of catalog.upstreams) {
      const known = this.#members.get(name);
      next.set(name, known && sameConfig(known.config, config) ? known : this.#newMember(config));
    }
    this.#members = next;
  }

  /** Whether it may get new requests. */
  has(name: string): boolean {
    const member = this.#members.get(name);
    return member !== undefined && member.config.paused !== true;
  }

  timeouts(name: string): UpstreamConfig['timeouts'] {
    return this.#members.get(name)?.config.timeouts ?? FALLBACK_TIMEOUTS;
  }

  admit(target: UpstreamTarget): UpstreamPermit | UpstreamWait {
    const member = this.#members.get(target.upstream);
    if (!member) return { kind: 'wait', waitMs: REMOVED_WAIT_MS };
    const now = this.#shared.clock.now();
    let shortestWaitMs = Infinity;
    for (const key of inTurn(member)) {
      const waitMs = key.models.get(target.model)?.admit(target.account, now) ?? 0;
      if (waitMs === 0) return new Permit(member, key, target, this.#shared);
      shortestWaitMs = Math.min(shortestWaitMs, waitMs);
    }
    return { kind: 'wait', waitMs: shortestWaitMs };
  }

  mayRetry(): boolean {
    return this.#shared.budget.spend();
  }

  list(): UpstreamStatus[] {
    const now = this.#shared.clock.now();
    return [...this.#members.values()].map((member) => ({
      name: member.config.name,
      kind: member.config.kind,
      state: stateOf(member, now),
      requests: member.requests,
      failures: member.failures,
      lastFailure: member.lastFailure,
      hasFailedTest: member.hasFailedTest,
      firstByteMs: member.firstByteMs === undefined ? undefined : Math.round(member.firstByteMs),
      resting: restingModels(member, now),
      learned: learnedBy(member),
    }));
  }

  /** A test call on demand with each key; it does not affect the breaker. */
  async test(name: string, signal: AbortSignal): Promise<UpstreamHealth> {
    const member = this.#members.get(name);
    const [first, ...others] = await Promise.all(
      (member?.keys ?? []).map(({ upstream }) => this.#check(upstream, signal)),
    );
    if (!member || !first) return { ok: false, detail: `there is no backend '${name}'`, latencyMs: 0 };
    const results = [first, ...others];
    member.hasFailedTest = results.some(({ ok }) => !ok);
    if (others.length === 0) return first;
    const wrong = results.flatMap(({ ok, detail }, index) => (ok ? [] : [`key ${index + 1}: ${detail}`]));
    return {
      ok: wrong.length === 0,
      detail: wrong.length === 0 ? `${first.detail} (${results.length} keys)` : wrong.join('; '),
      latencyMs: Math.max(...results.map(({ latencyMs }) => latencyMs)),
    };
  }

  async #check(upstream: Upstream, signal: AbortSignal): Promise<UpstreamHealth> {
    const startedAt = this.#shared.clock.now();
    try {
      return await upstream.check(signal);
    } catch (thrown) {
      const detail = thrown instanceof Error ? thrown.message : String(thrown);
      return { ok: false, detail, latencyMs: this.#shared.clock.now() - startedAt };
    }
  }

  #newMember(config: UpstreamConfig): PoolMember {
    const keys = config.apiKeys ?? [config.apiKey];
    for (const secret of [...keys, ...config.headers.values()])
      if (secret !== undefined) hideFromLogs(secret);
    hideServerFromCustomers(upstreamOrigin(config) ?? '');
    return {
      config,
      keys: keys.map((apiKey) => ({
        upstream: makeUpstream({ ...config, apiKey }, this.#shared.clock, this.#builtIn, (learned) =>
          this.#log?.warn('backend_refuses_field', { backend: config.name, ...learned }),
        ),
        models: new Map(),
      })),
      usedModels: new Set(),
      admitted: 0,
      requests: 0,
      failures: 0,
      lastFailure: undefined,
      hasFailedTest: false,
      firstByteMs: undefined,
    };
  }
}

/** What all backends of a pool share. */
interface SharedParts {
  readonly clock: Clock;
  readonly budget: RetryBudget;
}

class Permit implements UpstreamPermit {
  readonly kind = 'permit';
  readonly #member: PoolMember;
  readonly #key: MemberKey;
  readonly #target: UpstreamTarget;
  readonly #shared: SharedParts;

  constructor(member: PoolMember, key: MemberKey, target: UpstreamTarget, shared: SharedParts) {
    this.#member = member;
    this.#key = key;
    this.#target = target;
    this.#shared = shared;
  }

  get upstream(): Upstream {
    return this.#key.upstream;
  }

  get hasOtherKeys(): boolean {
    return this.#member.keys.length > 1;
  }

  release(): void {
    const { model, account } = this.#target;
    this.#key.models.get(model)?.release(account, this.#shared.clock.now());
  }

  report(result: AttemptResult): void {
    const { model, account } = this.#target;
    const now = this.#shared.clock.now();
    this.#shared.budget.earn();
    this.#member.usedModels.add(model);
    count(this.#member, result, now);
    if (result.kind === 'ok') this.#key.models.get(model)?.succeeded(account, now);
    else if (result.kind === 'neutral') this.#key.models.get(model)?.release(account, now);
    else healthOf(this.#key, model).failed(account, now, cooldownOf(this.#member, result));
  }
}

const FALLBACK_TIMEOUTS = { firstByteMs: 60_000, idleMs: 60_000, totalMs: 600_000 };
/** The catalog was replaced while the request ran. */
const REMOVED_WAIT_MS = 1_000;

/** All keys, beginning with another one each time, so that they share the load. */
function inTurn(member: PoolMember): readonly MemberKey[] {
  const { keys } = member;
  if (keys.length === 1) return keys;
  const start = member.admitted++ % keys.length;
  return [...keys.slice(start), ...keys.slice(0, start)];
}

function healthOf({ models }: MemberKey, model: string): TargetHealth {
  const known = models.get(model);
  if (known) return known;
  const health = new TargetHealth();
  models.set(model, health);
  return health;
}

function count(member: PoolMember, result: AttemptResult, now: number): void {
  member.requests++;
  if (result.kind === 'ok') {
    member.firstByteMs = smoothed(member.firstByteMs, result.firstByteMs);
    member.hasFailedTest = false;
  }
  if (result.kind !== 'failed') return;
  member.failures++;
  member.lastFailure = { at: now, reason: result.reason };
}

/**
 * An account without credit stays so for the next request too. Where other keys can serve, a key that is over its
 * limit or refused need not fail five times.
 */
function cooldownOf(
  { keys }: PoolMember,
  { reason, cooldownMs }: Extract<AttemptResult, { kind: 'failed' }>,
): number | undefined {
  if (cooldownMs !== undefined) return cooldownMs;
  if (reason === 'out_of_credit') return MAX_COOLDOWN_MS;
  if (keys.length === 1) return undefined;
  if (reason === 'unauthorized') return MAX_COOLDOWN_MS;
  return reason === 'rate_limited' ? FIRST_OPEN_MS : undefined;
}

function smoothed(before: number | undefined, newest: number): number {
  return before === undefined ? newest : before + (newest - before) * SMOOTHING;
}

/** A failing model or key is no failing backend: the backend's state is the one that all of them share. */
function stateOf({ keys, usedModels }: PoolMember, now: number): HealthState {
  const states = new Set(
    keys.flatMap(({ models }) => [...usedModels].map((model) => models.get(model)?.state(now) ?? 'ok')),
  );
  const [only = 'ok', another] = states;
  return another === undefined ? only : 'failing';
}

function restingModels({ keys }: PoolMember, now: number): RestingModel[] {
  return keys.flatMap(({ models }, index) =>
    [...models].flatMap(([model, health]) =>
      health.rests(now).map((rest) => ({ model, key: keys.length === 1 ? undefined : index + 1, ...rest })),
    ),
  );
}

/** Each key's upstream has learned for itself. */
function learnedBy({ keys }: PoolMember): LearnedField[] {
  const all = keys.flatMap(({ upstream }) => upstream.learned?.() ?? []);
  return [...new Map(all.map((one) => [`${one.model} ${one.field}`, one])).values()];
}

function sameConfig(a: UpstreamConfig, b: UpstreamConfig): boolean {
  return fingerprint(a) === fingerprint(b);
}

function fingerprint(config: UpstreamConfig): string {
  return JSON.stringify([config, [...config.headers], [...config.options]]);
}

/**
 * One retry budget for the whole process: a tenth of the requests, with a small reserve for quiet times. When every
 * backend fails, the backends get at most a tenth more requests than the clients send, however many endpoints there
 * are.
 */
export class RetryBudget {
  #tokens = RETRY_RESERVE;

  /** Each request earns a tenth of a retry. */
  earn(): void {
    this.#tokens = Math.min(RETRY_RESERVE, this.#tokens + RETRY_SHARE);
  }

  spend(): boolean {
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

const RETRY_SHARE = 0.1;
const RETRY_RESERVE = 20;
