import type { Catalog, UpstreamConfig } from '../catalog/catalog.ts';
import type { Clock } from '../std/clock.ts';
import { ask, CLOSED, failed, succeeded, undecided, type BreakerState } from './breaker.ts';
import { makeUpstream } from './kinds.ts';
import type { AttemptResult, Upstream, UpstreamHealth, UpstreamPool } from './port.ts';
import { RetryBudget } from './retry-budget.ts';

export interface UpstreamStatus {
  readonly name: string;
  readonly kind: string;
  readonly state: 'ok' | 'failing' | 'resting' | 'probing';
  readonly requests: number;
  readonly failures: number;
  readonly lastFailure: { readonly at: number; readonly reason: string } | undefined;
  /** Smoothed over the latest requests. */
  readonly firstByteMs: number | undefined;
  readonly restsUntil: number | undefined;
}

interface Member {
  readonly config: UpstreamConfig;
  readonly upstream: Upstream;
  breaker: BreakerState;
  requests: number;
  failures: number;
  lastFailure: UpstreamStatus['lastFailure'];
  firstByteMs: number | undefined;
}

/** How much the newest latency weighs in the shown one. */
const SMOOTHING = 0.1;

/** The backends of the current catalog, each with its health. A backend whose configuration did not change is kept. */
export class Pool implements UpstreamPool {
  readonly #clock: Clock;
  readonly #budget = new RetryBudget();
  #members = new Map<string, Member>();

  constructor(catalog: Catalog, clock: Clock) {
    this.#clock = clock;
    this.use(catalog);
  }

  /** Requests that run keep the backend they have. */
  use(catalog: Catalog): void {
    const next = new Map<string, Member>();
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

  admit(name: string): number {
    const member = this.#members.get(name);
    if (!member) return 0;
    const { waitMs, state } = ask(member.breaker, this.#clock.now());
    member.breaker = state;
    return waitMs;
  }

  giveBack(name: string): void {
    const member = this.#members.get(name);
    if (member) member.breaker = undecided(member.breaker, this.#clock.now());
  }

  mayRetry(): boolean {
    return this.#budget.spend();
  }

  report(name: string, result: AttemptResult): void {
    const member = this.#members.get(name);
    if (!member) return;
    this.#budget.earn();
    member.requests++;
    const now = this.#clock.now();
    switch (result.kind) {
      case 'ok':
        member.breaker = succeeded(member.breaker, now);
        member.firstByteMs = smoothed(member.firstByteMs, result.firstByteMs);
        return;
      case 'failed':
        member.failures++;
        member.lastFailure = { at: now, reason: result.reason };
        member.breaker = failed(member.breaker, now, result.cooldownMs);
        return;
      case 'neutral':
        member.breaker = undecided(member.breaker, now);
        return;
    }
  }

  list(): UpstreamStatus[] {
    const now = this.#clock.now();
    return [...this.#members.values()].map((member) => ({
      name: member.config.name,
      kind: member.config.kind,
      state: stateWord(member.breaker, now),
      requests: member.requests,
      failures: member.failures,
      lastFailure: member.lastFailure,
      firstByteMs: member.firstByteMs === undefined ? undefined : Math.round(member.firstByteMs),
      restsUntil:
        member.breaker.kind === 'open' && member.breaker.openUntil > now
          ? member.breaker.openUntil
          : undefined,
    }));
  }

  /** A test call on demand; it does not touch the breaker. */
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

  #newMember(config: UpstreamConfig): Member {
    return {
      config,
      upstream: makeUpstream(config, this.#clock),
      breaker: CLOSED,
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

function stateWord(breaker: BreakerState, now: number): UpstreamStatus['state'] {
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
