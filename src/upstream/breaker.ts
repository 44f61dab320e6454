/**
 * Decides whether a backend is asked for a model at all. Closed: asked. Open after failures: left alone for a while, longer each time.
 * Then one request is let through as a probe, and its result decides. A pure function of (state, event, now), so that
 * every transition is a line of a test.
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
const FIRST_REST_MS = 2_000;
const LONGEST_REST_MS = 60_000;
/** A backend that asks for more is asked again all the same: its limit may be that of one moment, or of one customer. */
const LONGEST_COOLDOWN_MS = 15_000;
/** A probe that never reports must not keep the backend closed off for ever. */
const PROBE_LIMIT_MS = 120_000;

/** How long the caller must leave the backend alone (0: go), and the state after asking. */
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
    return { ...state, kind: 'open', openUntil: now + Math.min(cooldownMs, LONGEST_COOLDOWN_MS) };
  }
  if (state.kind !== 'closed') return opened(state, now);
  const next = remember(state, now, false);
  const failures = next.recent.filter(({ ok }) => !ok).length;
  return failures >= MIN_FAILURES && failures >= next.recent.length * FAILURE_SHARE
    ? opened(next, now)
    : next;
}

/** A probe that proved nothing (the client left) gives its place to the next one. */
export function releaseProbe(state: BreakerState, now: number): BreakerState {
  return state.kind === 'probing' ? { ...state, kind: 'open', openUntil: now } : state;
}

function opened(state: BreakerState, now: number): BreakerState {
  const restMs = Math.min(FIRST_REST_MS * 2 ** state.openings, LONGEST_REST_MS);
  return { kind: 'open', recent: [], openUntil: now + restMs, openings: state.openings + 1 };
}

function remember(state: BreakerState, now: number, ok: boolean): BreakerState {
  // The common case, one success after another, keeps no history worth copying.
  if (ok && state.recent.length === 0) return state;
  const recent = [...state.recent.filter(({ at }) => now - at < WINDOW_MS), { at: now, ok }].slice(
    -MAX_RECENT,
  );
  return { ...state, recent };
}
