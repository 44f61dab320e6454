/** A value that outlives the components which show it; made for `useSyncExternalStore`. */
interface Store<Value extends object> {
  readonly get: () => Value;
  /** With `soon`, changes that follow within a few milliseconds are notified together. */
  readonly change: (next: Partial<Value>, soon?: boolean) => void;
  readonly subscribe: (listener: () => void) => () => void;
}

const SOON_MS = 40;

export function makeStore<Value extends object>(initial: Value): Store<Value> {
  let value = initial;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const listeners = new Set<() => void>();
  const tell = (): void => {
    clearTimeout(timer);
    timer = undefined;
    for (const listener of listeners) listener();
  };
  return {
    get: () => value,
    change: (next, soon = false) => {
      value = { ...value, ...next };
      // Tokens arrive faster than the screen is drawn, so a burst of them is shown together.
      if (!soon) tell();
      else timer ??= setTimeout(tell, SOON_MS);
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}
