/** Runs before the first paint, so that a dark room never sees a white flash. `lib/theme.ts` takes over afterwards. */
export function bootTheme(): void {
  const choice = stored();
  const dark =
    choice === 'dark' || (choice !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset['theme'] = dark ? 'dark' : 'light';
}

function stored(): string | null {
  try {
    return localStorage.getItem('tollgate.theme');
  } catch {
    return null; // Storage can be forbidden; the system's choice is then the answer.
  }
}

bootTheme();
