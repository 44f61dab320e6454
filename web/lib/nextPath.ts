/** Where to go after signing in: a path of this origin, or the overview. Anything that could leave the origin is refused. */
export function nextPath(search: string): string {
  const wanted = new URLSearchParams(search).get('next') ?? '';
  return isOwnPath(wanted) ? wanted : '/app';
}

export function signInHref(location: string, search: string): string {
  const here = search ? `${location}?${search.replace(/^\?/, '')}` : location;
  return here === '/app' ? '/sign-in' : `/sign-in?next=${encodeURIComponent(here)}`;
}

function isOwnPath(path: string): boolean {
  if (!/^\/(?![/\\])/.test(path)) return false;
  // The browser's own reading decides: tabs, newlines and backslashes are normalised before it.
  return new URL(path, location.origin).origin === location.origin;
}
