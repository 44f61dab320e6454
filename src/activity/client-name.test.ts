import { expect, test } from 'bun:test';
import { clientName } from './client-name.ts';

test.each([
  ['OpenAI/Python 2.1.0', 'OpenAI/Python'],
  ['AsyncOpenAI/Python 1.99.0 (linux)', 'AsyncOpenAI/Python'],
  ['curl/8.5.0', 'curl'],
  ['claude-cli/1.0.44 (external, cli)', 'claude-cli'],
  ['my agent v2.0', 'my agent'],
  [
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36',
    'Chrome',
  ],
  ['', ''],
  ['x'.repeat(500), 'x'.repeat(60)],
])('the client of %p is %p, whatever its version', (userAgent, name) => {
  expect(clientName(userAgent)).toBe(name);
});
