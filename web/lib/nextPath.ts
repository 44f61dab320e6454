/** Where to go after signing in: a path of this origin, or the overview. Anything that could leave the origin is refused. */
export function nextPath(): string {
  const wanted = new URLSearchParams(location.search).get('next') ?? '';
  return isOwnPath(wanted) ? wanted : '/app';
}

/** The sign-in page, with the path to return to. */
export function signInHref(): string {
  const here = location.pathname + location.search;
  return here === '/app' ? '/sign-in' : `/sign-in?next=${encodeURIComponent(here)}`;
}

function isOwnPath(path: string): boolean {
  if (!/^\/(?![/\\])/.test(path)) return false;
  // The browser's own reading decides: tabs, newlines and backslashes are normalised before it.
  return URL.canParse(path, location.origin) && new URL(path, location.origin).origin === location.origin;
}
