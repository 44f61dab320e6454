import { useEffect, useRef, useSyncExternalStore } from 'react';
import { classes } from '../lib/classes.ts';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: 'good' | 'bad';
}

const SHOWN_MS = 4500;
const MAX_SHOWN = 3;
let toasts: readonly Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

/** Shows for a moment that something was done, or failed. */
export function toast(text: string, tone: Toast['tone'] = 'good'): void {
  const id = nextId++;
  change([...toasts, { id, text, tone }].slice(-MAX_SHOWN));
  setTimeout(() => change(toasts.filter((shown) => shown.id !== id)), SHOWN_MS);
}

/** A popover, so that it is drawn above open dialogs, and raised again with each new message. */
export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  const layer = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = layer.current;
    if (element?.matches(':popover-open')) element.hidePopover();
    if (shown.length > 0) element?.showPopover();
  }, [shown]);
  return (
    <div
      ref={layer}
      popover="manual"
      role="status"
      className="pointer-events-none inset-x-4 top-auto bottom-4 m-0 w-auto flex-col items-center gap-2 overflow-visible bg-transparent open:flex sm:left-auto sm:items-end"
    >
      {shown.map((item) => (
        <div
          key={item.id}
          className={classes(
            'max-w-md animate-rise rounded-md border bg-raised px-4 py-2.5 text-ink shadow-pop',
            item.tone === 'bad' ? 'border-bad-line text-bad' : 'border-line',
          )}
        >
          {item.text}
        </div>
      ))}
    </div>
  );
}

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
