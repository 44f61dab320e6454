import { lazy, type ComponentType, type LazyExoticComponent } from 'react';
import { serverAnswers } from './connection.ts';
import { whenIdle } from './idle.ts';
import { keepTyped } from './typed.ts';

/**
 * Loads a part of the program. Without a connection it waits. A part that a running server does not have belongs to
 * another version: the page is loaded again, once, and what was typed is kept.
 */
export async function loadChunk<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load();
  } catch {
    await serverAnswers();
  }
  try {
    // Some browsers remember that a module could not be loaded; then this fails too, and loading the page anew helps.
    return await load();
  } catch (error) {
    if (wasJustReloadedFor(error)) throw error;
    keepTyped();
    location.reload();
    return await new Promise<never>(() => undefined);
  }
}

/** A page that is just being opened has what it shows by then, on most devices. */
const OPENED_MS = 1_000;

/** Loads parts that will probably be wanted, unless the visitor saves data. Whoever opens one hears of what fails. */
export function loadAhead(loads: readonly (() => Promise<unknown>)[]): () => void {
  // Only some browsers tell, so it is not in the types.
  const { connection } = navigator as Navigator & { connection?: { saveData?: boolean } };
  if (connection?.saveData === true) return () => undefined;
  return whenIdle(() => void Promise.allSettled(loads.map((load) => load())), OPENED_MS);
}

/** A component that is loaded when it is first shown. */
export function later<Props extends object>(
  load: () => Promise<{ default: ComponentType<Props> }>,
): LazyExoticComponent<ComponentType<Props>> {
  return lazy(async () => await loadChunk(load));
}

const KEY = 'tollgate.reloaded';
/** A reload that did not help within this time is not repeated. */
const RELOAD_HELPS_MS = 60_000;

/**
 * Whether the page was loaded again for the same part, which browsers name in the error. Also true where that cannot
 * be stored: an endless series of reloads is worse than a message.
 */
function wasJustReloadedFor(error: unknown): boolean {
  const part = error instanceof Error ? error.message : '';
  try {
    const [before = '', at = '0'] = (sessionStorage.getItem(KEY) ?? '').split('\n');
    sessionStorage.setItem(KEY, `${part}\n${Date.now()}`);
    return before === part && Date.now() - Number(at) < RELOAD_HELPS_MS;
  } catch {
    return true;
  }
}
