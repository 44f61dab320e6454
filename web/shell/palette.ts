/** The palette is loaded when it is first opened; until then only this switch exists. */
const listeners = new Set<(open: boolean) => void>();

export function openPalette(): void {
  for (const listener of listeners) listener(true);
}

export function onPalette(listener: (open: boolean) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
