/** The program in a User-Agent, without its version: `OpenAI/Python` of `OpenAI/Python 2.1.0 (…)`, `curl` of `curl/8.5.0`. */
export function clientName(userAgent: string): string {
  if (userAgent.startsWith('Mozilla/')) {
    const [, browser = 'Mozilla'] = /(Firefox|Edg|Chrome|Safari)\/[\d.]+/.exec(userAgent) ?? [];
    return browser;
  }
  const [first = ''] = userAgent.split(/ ?[(;,]/, 1);
  return first.replace(/[ /]v?\d.*$/, '').slice(0, MAX_LENGTH);
}

const MAX_LENGTH = 60;
