/** After what is on the screen is painted, and not before a time: for work that nobody waits for. */
export function whenIdle(work: () => void, afterMs = 0): () => void {
  const timer = setTimeout(() => {
    // Not in every browser.
    if (typeof requestIdleCallback === 'function') requestIdleCallback(work);
    else work();
  }, afterMs);
  return () => clearTimeout(timer);
}
