import type { Catalog, UpstreamConfig } from '../catalog/catalog.ts';
import type { Clock } from '../std/clock.ts';
import { makeUpstream, type BuiltInKinds } from './make-upstream.ts';
import type { AttemptResult, UpstreamTarget, Upstream, UpstreamHealth, UpstreamPool } from './port.ts';

export interface UpstreamStatus {
  readonly name: string;
  readonly kind: string;
  /** `resting` and `probing` if all of its models that were used are. */
  readonly state: HealthState;
  readonly requests: number;
  readonly failures: number;
  readonly lastFailure: { readonly at: number; readonly reason: string } | undefined;
  /** Smoothed over the latest requests. */
  readonly firstByteMs: number | undefined;
  /** Models whose breaker is open, by the backend's own names. */
  readonly resting: readonly { readonly model: string; readonly until: number }[];
}

type HealthState = 'ok' | 'failing' | 'resting' | 'probing';

interface PoolMember {
  readonly config: UpstreamConfig;
  readonly upstream: Upstream;
  /** By the backend's own name of the model; as many as the catalog has. */
  readonly breakers: Map<string, BreakerState>;
  requests: number;
  failures: number;
  lastFailure: UpstreamStatus['lastFailure'];
  firstByteMs: number | undefined;
}

/** Weight of the newest latency in the smoothed one. */
const SMOOTHING = 0.1;

/**
 * The backends of the current catalog, with the health of each model. A backend whose configuration did not change is
 * kept.
 */
export class Pool implements UpstreamPool {
  readonly #clock: Clock;
  readonly #builtIn: BuiltInKinds;
  readonly #budget = new RetryBudget();
  #members = new Map<string, PoolMember>();

  constructor(catalog: Catalog, clock: Clock, builtIn: BuiltInKinds) {
    this.#clock = clock;
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

  get(name: string): Upstream | undefined {
    return this.#members.get(name)?.upstream;
  }

  timeouts(name: string): UpstreamConfig['timeouts'] {
    return this.#members.get(name)?.config.timeouts ?? FALLBACK_TIMEOUTS;
  }

  admit({ upstream, model }: UpstreamTarget): number {
    const breakers = this.#members.get(upstream)?.breakers;
    const breaker = breakers?.get(model);
    if (!breakers || !breaker) return 0;
    const { waitMs, state } = requestPermit(breaker, this.#clock.now());
    breakers.set(model, state);
    return waitMs;
  }

  releasePermit({ upstream, model }: UpstreamTarget): void {
    const breakers = this.#members.get(upstream)?.breakers;
    const breaker = breakers?.get(model);
    if (breaker) breakers?.set(model, releaseProbe(breaker, this.#clock.now()));
  }

  mayRetry(): boolean {
    return this.#budget.spend();
  }

  report({ upstream, model }: UpstreamTarget, result: AttemptResult): void {
    const member = this.#members.get(upstream);
    if (!member) return;
    this.#budget.earn();
    member.requests++;
    const now = this.#clock.now();
    member.breakers.set(model, afterResult(member.breakers.get(model) ?? CLOSED, now, result));
    if (result.kind === 'ok') member.firstByteMs = smoothed(member.firstByteMs, result.firstByteMs);
    if (result.kind !== 'failed') return;
    member.failures++;
    member.lastFailure = { at: now, reason: result.reason };
  }

  list(): UpstreamStatus[] {
    const now = this.#clock.now();
    return [...this.#members.values()].map((member) => ({
      name: member.config.name,
      kind: member.config.kind,
      state: stateOf([...member.breakers.values()], now),
      requests: member.requests,
      failures: member.failures,
      lastFailure: member.lastFailure,
      firstByteMs: member.firstByteMs === undefined ? undefined : Math.round(member.firstByteMs),
      resting: [...member.breakers]
        .filter(([, breaker]) => stateName(breaker, now) === 'resting')
        .map(([model, { openUntil: until }]) => ({ model, until })),
    }));
  }

  /** A test call on demand; it does not affect the breaker. */
  async test(name: string, signal: AbortSignal): Promise<UpstreamHealth> {
    const upstream = this.get(name);
    if (!upstream) return { ok: false, detail: `there is no backend '${name}'`, latencyMs: 0 };
    const startedAt = this.#clock.now();
    try {
      return await upstream.check(signal);
    } catch (thrown) {
      const detail = thrown instanceof Error ? thrown.message : String(thrown);
      return { ok: false, detail, latencyMs: this.#clock.now() - startedAt };
    }
  }

  #newMember(config: UpstreamConfig): PoolMember {
    return {
      config,
      upstream: makeUpstream(config, this.#clock, this.#builtIn),
      breakers: new Map(),
      requests: 0,
      failures: 0,
      lastFailure: undefined,
      firstByteMs: undefined,
    };
  }
}

const FALLBACK_TIMEOUTS = { firstByteMs: 60_000, idleMs: 60_000, totalMs: 600_000 };

function smoothed(before: number | undefined, newest: number): number {
  return before === undefined ? newest : before + (newest - before) * SMOOTHING;
}

function afterResult(breaker: BreakerState, now: number, result: AttemptResult): BreakerState {
  switch (result.kind) {
    case 'ok':
      return succeeded(breaker, now);
    case 'failed':
      return failed(breaker, now, result.cooldownMs);
    case 'neutral':
      return releaseProbe(breaker, now);
  }
}

/** The failure of one model is not that of the backend: its state is what all its models have in common. */
function stateOf(breakers: readonly BreakerState[], now: number): HealthState {
  const states = new Set(breakers.map((breaker) => stateName(breaker, now)));
  const [only = 'ok', another] = states;
  return another === undefined ? only : 'failing';
}

function stateName(breaker: BreakerState, now: number): HealthState {
  if (breaker.kind === 'probing') return 'probing';
  if (breaker.kind === 'open' && breaker.openUntil > now) return 'resting';
  return breaker.recent.some(({ ok }) => !ok) ? 'failing' : 'ok';
}

function sameConfig(a: UpstreamConfig, b: UpstreamConfig): boolean {
  return fingerprint(a) === fingerprint(b);
}

function fingerprint(config: UpstreamConfig): string {
  return JSON.stringify([config, [...config.headers], [...config.options]]);
}

/**
 * Decides whether a backend is called for a model. Closed: it is called. Open after failures: it is not called for a
 * while, longer each time. Then one request is let through as a probe, and its result decides. A pure function of
 * (state, event, now), so that every transition is one line of a test.
 */
export interface BreakerState {
  readonly kind: 'closed' | 'open' | 'probing';
  /** Recent results while closed, newest last. */
  readonly recent: readonly { readonly at: number; readonly ok: boolean }[];
  readonly openUntil: number;
  /** How often it opened in a row: each time it stays open twice as long. */
  readonly openings: number;
}

export const CLOSED: BreakerState = { kind: 'closed', recent: [], openUntil: 0, openings: 0 };

const WINDOW_MS = 10_000;
const MAX_RECENT = 50;
const MIN_FAILURES = 5;
const FAILURE_SHARE = 0.5;
const FIRST_OPEN_MS = 2_000;
const MAX_OPEN_MS = 60_000;
/**
 * A backend that asks for a longer cooldown is still called after this: its limit may be momentary, or apply to one
 * customer.
 */
const MAX_COOLDOWN_MS = 15_000;
/** A probe that never reports must not keep the breaker open forever. */
const PROBE_LIMIT_MS = 120_000;

/** How long the caller must not call the backend (0: it may now), and the resulting state. */
export function requestPermit(state: BreakerState, now: number): { waitMs: number; state: BreakerState } {
  if (state.kind === 'closed') return { waitMs: 0, state };
  if (now < state.openUntil) return { waitMs: state.openUntil - now, state };
  return { waitMs: 0, state: { ...state, kind: 'probing', openUntil: now + PROBE_LIMIT_MS } };
}

export function succeeded(state: BreakerState, now: number): BreakerState {
  return state.kind === 'closed' ? remember(state, now, true) : CLOSED;
}

export function failed(state: BreakerState, now: number, cooldownMs?: number): BreakerState {
  if (cooldownMs !== undefined) {
    return { ...state, kind: 'open', openUntil: now + Math.min(cooldownMs, MAX_COOLDOWN_MS) };
  }
  if (state.kind !== 'closed') return opened(state, now);
  const next = remember(state, now, false);
  const failures = next.recent.filter(({ ok }) => !ok).length;
  return failures >= MIN_FAILURES && failures >= next.recent.length * FAILURE_SHARE
    ? opened(next, now)
    : next;
}

/** A probe without a result (the client left) makes room for the next one. */
export function releaseProbe(state: BreakerState, now: number): BreakerState {
  return state.kind === 'probing' ? { ...state, kind: 'open', openUntil: now } : state;
}

function opened(state: BreakerState, now: number): BreakerState {
  const restMs = Math.min(FIRST_OPEN_MS * 2 ** state.openings, MAX_OPEN_MS);
  return { kind: 'open', recent: [], openUntil: now + restMs, openings: state.openings + 1 };
}

function remember(state: BreakerState, now: number, ok: boolean): BreakerState {
  // In the common case, one success after another, there is no history to copy.
  if (ok && state.recent.length === 0) return state;
  const recent = [...state.recent.filter(({ at }) => now - at < WINDOW_MS), { at: now, ok }].slice(
    -MAX_RECENT,
  );
  return { ...state, recent };
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
