import { describe, expect, test } from 'bun:test';
import type { TFunction } from 'i18next';
import { catalogChanges } from '../../../../src/catalog/diff.ts';
import { parseCatalog } from '../../../../src/catalog/parse.ts';
import { account as german } from '../../../locales/de/account.ts';
import { admin as germanAdmin } from '../../../locales/de/admin.ts';
import { account as english } from '../../../locales/en/account.ts';
import { admin as englishAdmin } from '../../../locales/en/admin.ts';
import { changedName, changeText } from './changeText.ts';

const TEXTS = { de: { ...germanAdmin, ...german }, en: { ...englishAdmin, ...english } };

/** The texts of one language, as the pages look them up. */
function texts(language: 'de' | 'en'): TFunction {
  const look = (key: string, values: Record<string, unknown> = {}): unknown => {
    const found = key
      .split('.')
      .reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], TEXTS[language]);
    return typeof found === 'string'
      ? found.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => String(values[name]))
      : found;
  };
  return look as unknown as TFunction;
}

const BEFORE = `
upstreams: { a: { kind: openai, base_url: "https://a.example/v1" }, b: { kind: house } }
lists:
  list:
    - { model: plain, input: 1, output: 2, tokenizer: o200k_base }
    - { model: gift, free: true }
  pictures:
    - { model: map, image: 0.03, sizes: [512x512] }
endpoints:
  chat: { name: Chat, type: chat_completion, lists: [list], upstreams: [a] }
  paint: { name: Paint, type: image_generation, lists: [pictures], upstreams: [b] }
`;
const AFTER = `
upstreams: { a: { kind: openai, base_url: "https://b.example/v1", paused: true, daily_cost_limit_usd: 5 }, b: { kind: house } }
lists:
  list:
    - model: plain
      input: 1.5
      cached_input: 0.1
      output: 10
      cache_write: 2
      request: 0.01
      tool_calls: { web_search: 0.02 }
      above: { 1000: { input: 2, output: 20 } }
      service_tiers: { flex: 0.5 }
      vision: true
    - { model: gift, input: 1, output: 1 }
  pictures:
    - { model: map, image: 0.04, input_image: 0.001, sizes: [512x512, 256x256] }
endpoints:
  chat: { name: Chat, type: chat_completion, lists: [list], upstreams: [a, b] }
  paint: { name: Paint, type: image_generation, lists: [pictures], upstreams: [b] }
limits: { chat_per_minute: 7 }
groups: { vip: { factor: 0.9, prices: { chat/plain: { output: 9 } } } }
`;

const read = (yaml: string) => parseCatalog(yaml, { fileName: 'tollgate.yaml', env: {} });
const changes = [
  ...catalogChanges(read(BEFORE), read(AFTER)),
  ...catalogChanges(read(AFTER), read(BEFORE)),
].map((change) => ({ ...change, aspect: change.aspect ?? null }));
/** Words that the server says, and that German does not have. */
const SERVERS_WORDS =
  /\b(?:cached|per|none|free|unknown|yes|no|above|first byte|idle|each|then|order|account|nothing|default|cache_write|web_search|request|USD per)\b/;

describe('what a change is from or to', () => {
  const told = (language: 'de' | 'en') =>
    changes.flatMap((change) =>
      [change.before, change.after].flatMap((text) =>
        text === undefined ? [] : [changeText(change, text, texts(language))],
      ),
    );

  test('has none of the server’s words in German', () => {
    expect(changes.length).toBeGreaterThan(20);
    expect(told('de').filter((text) => SERVERS_WORDS.test(text))).toEqual([]);
  });

  test('keeps its amounts, whatever the language', () => {
    const numbers = (all: readonly string[]) => all.map((text) => text.match(/\d[\d.]*/g) ?? []);
    const server = changes.flatMap(({ before, after }) =>
      [before, after].filter((text) => text !== undefined),
    );
    expect(numbers(told('de'))).toEqual(numbers(server));
    expect(numbers(told('en'))).toEqual(numbers(server));
  });

  test('names the dimensions of a price as the price list does', () => {
    const price = changes.find(({ name, aspect }) => name === 'chat/plain' && aspect === 'price');
    expect(changeText(price!, price?.after ?? '', texts('de'))).toBe(
      '1.50 Eingabe, 0.10 aus Cache, 10.00 Ausgabe, Schreiben in den Cache 2.00, Pro Websuche 0.02, Pro Anfrage 0.01, Eingabe über 1000 2.00, Ausgabe über 1000 20.00, flex × 0.5 (USD pro Million Tokens)',
    );
  });

  test('says for whom a group’s own price is', () => {
    expect(changedName({ thing: 'price', name: 'chat/plain for vip' }, texts('de'))).toBe(
      'chat/plain für vip',
    );
    expect(changedName({ thing: 'model', name: 'chat/plain for vip' }, texts('de'))).toBe(
      'chat/plain for vip',
    );
  });

  test('is a name where names are told: no word in it is translated', () => {
    for (const aspect of ['name', 'address', 'target'])
      expect(changeText({ thing: 'model', aspect }, 'free above 5, then no', texts('de'))).toBe(
        'free above 5, then no',
      );
  });
});
