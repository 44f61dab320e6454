import { useSyncExternalStore } from 'react';
import { utcDayOf } from './time.ts';

const TICK_MS = 15_000;
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

/** The current time, as one clock for the whole page that advances every few seconds. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

export function useToday(): string {
  return utcDayOf(useNow());
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function tick(): void {
  now = Date.now();
  for (const listener of listeners) listener();
}
