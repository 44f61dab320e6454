import { useSyncExternalStore } from 'react';
import { readStored, writeStored } from './storage.ts';

export type ThemeChoice = 'system' | 'light' | 'dark';

const KEY = 'tollgate.theme';
const listeners = new Set<() => void>();
const system = matchMedia('(prefers-color-scheme: dark)');

system.addEventListener('change', () => apply());

export function useTheme(): { choice: ThemeChoice; dark: boolean; choose: (choice: ThemeChoice) => void } {
  const choice = useSyncExternalStore(subscribe, currentChoice);
  const dark = useSyncExternalStore(subscribe, isDark);
  return { choice, dark, choose: chooseTheme };
}

function chooseTheme(choice: ThemeChoice): void {
  writeStored(KEY, choice === 'system' ? undefined : choice);
  apply();
}

/** Applies the account's setting, unless this device has its own. */
export function adoptTheme(choice: ThemeChoice): void {
  if (readStored(KEY) === undefined && choice !== 'system') chooseTheme(choice);
}

function apply(): void {
  document.documentElement.dataset['theme'] = isDark() ? 'dark' : 'light';
  for (const listener of listeners) listener();
}

function currentChoice(): ThemeChoice {
  const stored = readStored(KEY);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

function isDark(): boolean {
  const choice = currentChoice();
  return choice === 'dark' || (choice === 'system' && system.matches);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
