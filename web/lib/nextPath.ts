/** Where to go after signing in: a path of this origin, or the overview. Anything that could leave the origin is refused. */
export function nextPath(): string {
  const wanted = new URLSearchParams(location.search).get('next') ?? '';
  return isOwnPath(wanted) ? wanted : '/app';
}

export function signInHref(): string {
  const here = location.pathname + location.search + location.hash;
  return here === '/app' ? '/sign-in' : `/sign-in?next=${encodeURIComponent(here)}`;
}

function isOwnPath(path: string): boolean {
  if (!/^\/(?![/\\])/.test(path)) return false;
  // The browser decides, because it normalises tabs, newlines and backslashes first.
  return URL.canParse(path, location.origin) && new URL(path, location.origin).origin === location.origin;
}
