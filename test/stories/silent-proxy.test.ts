import { expect, test } from 'bun:test';
import { eventually, NodeProcess } from '../support/node-process.ts';

const YAML = `
upstreams: { house: { kind: house } }
lists: { l: [ { model: house-echo, free: true } ] }
endpoints: { c: { name: c, type: chat_completion, lists: [l], upstreams: [house] } }
trusted_proxies: [127.0.0.1]
`;

test('a trusted proxy that does not say whether its client uses https is in the log, once', async () => {
  const node = await NodeProcess.start({ yaml: YAML });
  const event = '"event":"proxy_without_forwarded_proto"';
  for (let times = 0; times < 3; times++)
    await fetch(`${node.url}/v1/models`, { headers: { 'x-forwarded-for': '203.0.113.7' } });
  await eventually('it is in the log', () => node.log.includes(event));
  await fetch(`${node.url}/v1/models`, { headers: { 'x-forwarded-for': '203.0.113.7' } });
  await node.stop();
  expect(node.log.split(event)).toHaveLength(2);
  expect(node.log).toContain('"proxy":"127.0.0.1"');
}, 60_000);
