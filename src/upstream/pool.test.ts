import { expect, test } from 'bun:test';
import { parseCatalog } from '../catalog/parse.ts';
import { Pool } from './pool.ts';

function poolAt(now: number): Pool {
  const yaml = `
upstreams: { b: { kind: openai, base_url: "http://127.0.0.1:9/v1" } }
lists: { models: [{ model: m, free: true }] }
endpoints: { chat: { name: Chat, type: chat_completion, lists: [models], upstreams: [b] } }
`;
  return new Pool(parseCatalog(yaml, { fileName: 'test', env: {} }), { now: () => now }, {});
}

const busy = { kind: 'failed', reason: 'rate_limited', cooldownMs: 120_000 } as const;
const good = { kind: 'ok', firstByteMs: 1 } as const;

test('one model that rests is shown by its name, and the backend is not shown as resting', () => {
  const pool = poolAt(1_000);
  pool.report({ upstream: 'b', model: 'slow' }, busy);
  expect(pool.list()).toMatchObject([{ state: 'resting', resting: [{ model: 'slow', until: 16_000 }] }]);
  pool.report({ upstream: 'b', model: 'm' }, good);
  expect(pool.list()).toMatchObject([{ state: 'failing', resting: [{ model: 'slow' }] }]);
  expect(pool.admit({ upstream: 'b', model: 'm' })).toBe(0);
  expect(pool.admit({ upstream: 'b', model: 'slow' })).toBe(15_000);
});
