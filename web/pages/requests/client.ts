/** The part of a User-Agent that names the client: `OpenAI/Python 1.99.0`. The whole line is in the tooltip. */
export function shortClient(userAgent: string): string {
  const browser = /(Firefox|Edg|Chrome|Safari)\/[\d.]+/.exec(userAgent);
  if (userAgent.startsWith('Mozilla/') && browser) return browser[1] === 'Edg' ? 'Edge' : (browser[1] ?? '');
  return userAgent.split(' (')[0]?.slice(0, 60) ?? '';
}
