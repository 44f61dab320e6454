import { afterAll, beforeAll, expect, test } from 'bun:test';
import { MAX_PROMPT_CHARACTERS } from '../../src/house/house.ts';
import { Gateway } from '../support/gateway.ts';

const YAML = `
upstreams:
  house: { kind: house }
lists:
  house_models:
    - { model: house-echo, display_name: Echo, input: 0, output: 1, context: 10000000, max_output: 1000 }
    - { model: house-guide, display_name: Guide, input: 0, output: 1, context: 10000000, max_output: 1000 }
endpoints:
  svc_chat: { name: chat, type: chat_completion, lists: [house_models], upstreams: [house] }
`;

let gateway: Gateway;
beforeAll(async () => {
  gateway = await Gateway.start({ yaml: YAML });
});
afterAll(async () => {
  await gateway.stop();
});

test.each(['house-echo', 'house-guide'])(
  '%s, which works on the thread that serves requests, refuses a prompt that would keep it busy, and charges nothing',
  async (model) => {
    const account = await gateway.account('1');
    const half = 'x'.repeat(MAX_PROMPT_CHARACTERS / 2);
    const messages = [half, half].map((content) => ({ role: 'user', content }));
    const refused = await gateway.chat(account.token, { model, messages, max_tokens: 5 });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: 'context_length_exceeded' } });
    const served = await gateway.chat(account.token, { model, messages: messages.slice(1), max_tokens: 5 });
    expect(served.status).toBe(200);
    await gateway.settled(account);
    const rows = await gateway.requests(account);
    expect(rows.map(({ state }) => state)).toEqual(['void', 'posted']);
    expect((await gateway.verify()).breaches).toEqual([]);
  },
);
