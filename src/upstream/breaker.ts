/**
 * Decides whether a backend is called for a model. Closed: it is called. Open after failures: it is not called for a
 * while, longer each time. Then a few requests are let through as probes, and the first result decides. A pure function
 * of (state, event, now), so that every transition is one line of a test.
 */
export interface BreakerState {
  readonly kind: 'closed' | 'open' | 'probing';
  /** Recent results while closed, newest last. */
  readonly recent: readonly { readonly at: number; readonly ok: boolean }[];
  /** While probing: when probes that never reported are given up. */
  readonly openUntil: number;
  /** How often it opened in a row: each time it stays open twice as long. */
  readonly openings: number;
  /** Probes without a result yet. */
  readonly probes: number;
}

export const CLOSED: BreakerState = { kind: 'closed', recent: [], openUntil: 0, openings: 0, probes: 0 };

export const WINDOW_MS = 10_000;
const MAX_RECENT = 50;
export const MIN_FAILURES = 5;
const FAILURE_SHARE = 0.5;
export const FIRST_OPEN_MS = 2_000;
const MAX_OPEN_MS = 60_000;
/**
 * A backend that asks for a longer cooldown is still called after this: its limit may be momentary, or apply to one
 * customer.
 */
export const MAX_COOLDOWN_MS = 15_000;
/** A single probe may be a request that takes minutes, or one that fails for a reason of its own. */
const MAX_PROBES = 3;
/** A probe that never reports must not keep the breaker open forever. */
const PROBE_LIMIT_MS = 120_000;
/** For requests that come while all probes are running: one of them is likely to have decided by then. */
const PROBE_WAIT_MS = 1_000;

/** How long the caller must not call the backend (0: it may now), and the resulting state. */
export function requestPermit(state: BreakerState, now: number): { waitMs: number; state: BreakerState } {
  if (state.kind === 'closed') return { waitMs: 0, state };
  const isOver = now >= state.openUntil;
  if (state.kind === 'open' && !isOver) return { waitMs: state.openUntil - now, state };
  if (state.kind === 'probing' && !isOver) {
    if (state.probes >= MAX_PROBES) return { waitMs: PROBE_WAIT_MS, state };
    return { waitMs: 0, state: { ...state, probes: state.probes + 1 } };
  }
  return { waitMs: 0, state: { ...state, kind: 'probing', openUntil: now + PROBE_LIMIT_MS, probes: 1 } };
}

export function succeeded(state: BreakerState, now: number): BreakerState {
  return state.kind === 'closed' ? remember(state, now, true) : CLOSED;
}

export function failed(state: BreakerState, now: number, cooldownMs?: number): BreakerState {
  if (cooldownMs !== undefined) return cooledDown(state, now, cooldownMs);
  if (state.kind === 'probing') return opened(state, now);
  // The request was sent before the breaker opened, and says nothing new.
  if (state.kind === 'open') return state;
  const next = remember(state, now, false);
  const failures = failuresIn(next, now);
  return failures >= MIN_FAILURES && failures >= next.recent.length * FAILURE_SHARE
    ? opened(next, now)
    : next;
}

/** A probe without a result (the client left) makes room for the next one. */
export function releaseProbe(state: BreakerState, now: number): BreakerState {
  if (state.kind !== 'probing') return state;
  if (state.probes > 1) return { ...state, probes: state.probes - 1 };
  return { ...state, kind: 'open', openUntil: now, probes: 0 };
}

export function opened(state: BreakerState, now: number): BreakerState {
  const restMs = Math.min(FIRST_OPEN_MS * 2 ** state.openings, MAX_OPEN_MS);
  return { kind: 'open', recent: [], openUntil: now + restMs, openings: state.openings + 1, probes: 0 };
}

export function cooledDown(state: BreakerState, now: number, cooldownMs: number): BreakerState {
  const openUntil = now + Math.min(cooldownMs, MAX_COOLDOWN_MS);
  return { ...state, kind: 'open', openUntil: Math.max(openUntil, stillOpenUntil(state)), probes: 0 };
}

export function isResting(state: BreakerState, now: number): boolean {
  return state.kind === 'open' && state.openUntil > now;
}

export function failuresIn(state: BreakerState, now: number): number {
  return state.recent.filter(({ at, ok }) => !ok && now - at < WINDOW_MS).length;
}

function stillOpenUntil(state: BreakerState): number {
  return state.kind === 'open' ? state.openUntil : 0;
}

function remember(state: BreakerState, now: number, ok: boolean): BreakerState {
  // In the common case, one success after another, there is no history to copy.
  if (ok && state.recent.length === 0) return state;
  const recent = [...state.recent.filter(({ at }) => now - at < WINDOW_MS), { at: now, ok }].slice(
    -MAX_RECENT,
  );
  return { ...state, recent };
}
