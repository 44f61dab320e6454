/** Runs before the first paint, so that a dark theme never flashes white. `lib/theme.ts` takes over afterwards. */
function bootTheme(): void {
  const choice = stored();
  const dark =
    choice === 'dark' || (choice !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset['theme'] = dark ? 'dark' : 'light';
}

function stored(): string | null {
  try {
    return localStorage.getItem('tollgate.theme');
  } catch {
    return null; // Storage may be forbidden; then the system's setting applies.
  }
}

bootTheme();
