import { expect, test } from 'bun:test';
import type { ModelItem } from '../../lib/answers.ts';
import { alternativesTo } from './alternatives.ts';
import {
  MAX_CHATS,
  MAX_CHAT_CHARACTERS,
  parseChat,
  titleOf,
  withinBounds,
  type KeptChat,
} from './keptChats.ts';
import { chatForOthers, chatFragment, chatFromFragment, MAX_LINK_CHARACTERS } from './sharedChat.ts';

const chat = (more: Partial<KeptChat> = {}): KeptChat => ({
  id: 'a',
  title: 'Grüße',
  at: 1,
  choice: 'svc_chat house-echo',
  system: 'Be brief.',
  turns: [
    { role: 'user', text: 'Wie spät ist es? 🕰️', reasoning: '', status: 'done', model: '' },
    { role: 'assistant', text: 'Zwölf.', reasoning: 'hm', status: 'done', model: 'house-echo' },
  ],
  ...more,
});

test('the newest chats are kept, as many and as long as there is room', () => {
  const many = Array.from({ length: MAX_CHATS + 5 }, (_, at) => chat({ id: String(at), at }));
  const kept = withinBounds(many);
  expect(kept).toHaveLength(MAX_CHATS);
  expect(kept[0]?.id).toBe(String(MAX_CHATS + 4));
  expect(kept.some(({ id }) => id === '0')).toBe(false);
  expect(withinBounds([chat({ system: 'x'.repeat(MAX_CHAT_CHARACTERS) }), chat({ id: 'small' })])).toEqual([
    chat({ id: 'small' }),
  ]);
  const large = Array.from({ length: 30 }, (_, at) =>
    chat({ id: String(at), at, system: 'x'.repeat(150_000) }),
  );
  expect(JSON.stringify(withinBounds(large)).length).toBeLessThan(3_100_000);
});

test('a link carries a chat whole, without receipts and reasoning, and says so when it is too long', async () => {
  const receipt = { requestId: 'req_secret' } as never;
  const [question, answer] = chat().turns;
  const priced = chat({ turns: [question, { ...answer, receipt }] as KeptChat['turns'] });
  const fragment = (await chatFragment(priced)) ?? '';
  expect(fragment).toMatch(/^#chat=[\w-]+$/);
  const opened = await chatFromFragment(fragment);
  expect(opened).toEqual(chatForOthers(priced));
  expect(opened?.turns.map(({ text }) => text)).toEqual(['Wie spät ist es? 🕰️', 'Zwölf.']);
  expect(JSON.stringify(opened)).not.toMatch(/req_secret|hm/);
  const noise = Array.from({ length: 60_000 }, () => Math.random().toString(36).slice(2, 3)).join('');
  expect(await chatFragment(chat({ system: noise }))).toBeUndefined();
});

test('a link that is broken, foreign or unfolds to more than a chat opens nothing', async () => {
  const fragment = (await chatFragment(chat())) ?? '';
  const bomb = new Blob([new Uint8Array(20_000_000)])
    .stream()
    .pipeThrough(new CompressionStream('deflate-raw'));
  const packed = Buffer.from(await new Response(bomb).arrayBuffer()).toString('base64url');
  expect(packed.length).toBeLessThan(MAX_LINK_CHARACTERS);
  const wrong = [
    '',
    '#',
    '#chat=',
    '#chat=!!',
    fragment.slice(0, -9),
    `#chat=${btoa('{}')}`,
    `#chat=${packed}`,
  ];
  for (const hash of wrong)
    expect([hash.slice(0, 20), await chatFromFragment(hash)]).toEqual([hash.slice(0, 20), undefined]);
});

test('only what has the shape of a chat is taken from a file', () => {
  expect(parseChat(chat())).toEqual(chat());
  const wrong = [
    undefined,
    1,
    [],
    {},
    chat({ turns: [] }),
    { ...chat(), at: 'x' },
    { ...chat(), turns: [{ role: 'system', text: '' }] },
  ];
  for (const one of wrong) expect(parseChat(one)).toBeUndefined();
});

test('a chat is named by its first question', () => {
  expect(titleOf([{ role: 'user', text: `  ${'x'.repeat(200)}\nmore` }])).toHaveLength(80);
});

test('a failed answer is offered to models that can do the same, the same model elsewhere first', () => {
  const model = (endpoint: string, name: string, more: Partial<ModelItem> = {}) =>
    ({
      endpoint,
      model: name,
      displayName: `${name}@${endpoint}`,
      type: 'chat_completion',
      unavailable: null,
      vision: false,
      ...more,
    }) as ModelItem;
  const failed = model('a', 'one', { vision: true });
  const models = [
    failed,
    model('a', 'two'),
    model('b', 'one', { vision: true }),
    model('b', 'three', { unavailable: 'no key' }),
    model('c', 'four', { type: 'image_generation' }),
  ];
  const names = (turns: { images: string[] }[]) =>
    alternativesTo(failed, models, turns).map(({ displayName }) => displayName);
  expect(names([{ images: [] }])).toEqual(['one@b', 'two@a']);
  expect(names([{ images: ['data:'] }])).toEqual(['one@b']);
});
