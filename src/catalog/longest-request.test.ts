import { expect, test } from 'bun:test';
import { longestRequestMs } from './longest-request.ts';
import { parseCatalog } from './parse.ts';

function longest(upstreams: string, used: string): number {
  const text = `
upstreams:
${upstreams}
lists:
  models: [{ model: m, free: true }]
endpoints:
  quick: { name: Quick, type: chat_completion, lists: [models], upstreams: [quick] }
  chat: { name: Chat, type: chat_completion, lists: [models], upstreams: ${used} }
`;
  return longestRequestMs(parseCatalog(text, { fileName: 'tollgate.yaml', env: {} }));
}

const QUICK = `  quick: { kind: openai, base_url: http://127.0.0.1:1/v1, timeouts: { first_byte_ms: 10, total_ms: 20 } }`;
const SLOW = `  slow: { kind: openai, base_url: http://127.0.0.1:2/v1, timeouts: { first_byte_ms: 1000, total_ms: 5000 } }`;

test('a request may live as long as the deadlines of all backends of its endpoint together', () => {
  expect(longest(`${QUICK}\n${SLOW}`, '[quick, slow]')).toBe(10 + 20 + 1_000 + 5_000);
  expect(longest(`${QUICK}\n${SLOW}`, '[{ name: slow, weight: 1 }, { name: quick, weight: 2 }]')).toBe(6_030);
});

test('a backend that is alone is tried twice', () => {
  expect(longest(`${QUICK}\n${SLOW}`, '[slow]')).toBe(2 * 6_000);
  expect(longest(QUICK, '[quick]')).toBe(60);
});
