import { describe, expect, test } from 'bun:test';
import { turnsDuring } from '../../test/support/longest-turn.ts';
import fc from 'fast-check';
import { parseJson, withMembers } from './json-parse.ts';
import { JSON_LIMITS } from './json-scan.ts';

const LIMITS = { ...JSON_LIMITS, values: 8_000_000, structure: 1_000_000 };
const parsed = async (text: string) => await parseJson(new TextEncoder().encode(text), LIMITS);
const failed = (text: string) =>
  parsed(text).then(
    () => 'parsed',
    (error: unknown) => (error as Error).name,
  );
/** Longer than what is parsed in one turn. */
const LONG = 300_000;
const long = (sign: string): string => sign.repeat(LONG);

describe('a long text is the value that JSON.parse makes of it', () => {
  const texts = {
    'numbers in an array': JSON.stringify({ data: Array.from({ length: LONG }, (_, index) => index / 7) }),
    'vectors beside other members': JSON.stringify({
      object: 'list',
      data: Array.from({ length: 300 }, (_, index) => ({
        index,
        embedding: Array.from({ length: 300 }, (__, at) => at / 3),
      })),
      model: 'm',
      usage: { prompt_tokens: 1 },
    }),
    'a long string between short values': JSON.stringify({ a: [1, long('x'), 2, long('ü"\\\n'), [3]], b: 4 }),
    'a string of escapes': `["${'\\ud83d\\ude00'.repeat(LONG)}","${'\\\\'.repeat(LONG)}"]`,
    'a long string alone': JSON.stringify(long('é')),
    'a long key': JSON.stringify({ [long('k')]: long('v'), z: [1] }),
    'keys that are numbers or names of the language': `{"2":1,"__proto__":{"a":[${long('1,')}1]},"1":"${long('x')}","constructor":3}`,
    'the same key twice': `{"a":[${long('1,')}1],"b":"${long('x')}","a":2}`,
    'long arrays in each other': `[[[[${long('1,')}1],2],[${long('3,')}4]],{"a":{"b":[${long('5,')}6]},"c":[]}]`,
    'much white space': `  {  "a" : [ 1 , "${long('x')}" , 2 ] ${' '.repeat(LONG)}, "b" : {} }  \n`,
    'empty containers': `[${long('{},')}[],{}]`,
  };
  test.each(Object.entries(texts))('%s', async (_, text) => {
    const { value, text: same } = await parsed(text);
    expect(same === text).toBeTrue();
    expect(Bun.deepEquals(value, JSON.parse(text), true)).toBeTrue();
  });

  test('whatever stands in it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue({ maxDepth: 5 }),
        fc.jsonValue(),
        fc.nat(3),
        async (one, other, place) => {
          const parts = [one, other, { one, other }];
          parts.splice(place, 0, long('"\\é'), [long('x'), one]);
          const text = JSON.stringify({ parts, [String(place)]: parts }, undefined, place);
          expect(Bun.deepEquals((await parsed(text)).value, JSON.parse(text), true)).toBeTrue();
        },
      ),
      { numRuns: 10 },
    );
  });
});

test.each([
  ['a missing comma after what was built', `[[${long('1,')}1] 2]`],
  ['a missing comma before it', `[2 [${long('1,')}1]]`],
  ['a missing comma before a long string', `[2 "${long('x')}"]`],
  ['two long strings without a comma', `["${long('x')}" "${long('x')}"]`],
  ['two commas', `["${long('x')}",,"${long('x')}"]`],
  ['a comma at the end', `["${long('x')}",]`],
  ['a comma at the end of many', `[${long('1,')}]`],
  ['a comma at the beginning', `[,"${long('x')}"]`],
  ['a comma before a container', `[,[${long('1,')}1]]`],
  ['a value without a key', `{"${long('x')}"}`],
  ['a container without a key', `{[${long('1,')}1]}`],
  ['a key without a colon', `{"a" [${long('1,')}1]}`],
  ['a key in an array', `["a":[${long('1,')}1]]`],
  ['a bracket of the other kind', `{"a":[${long('1,')}1}]`],
  ['a bracket too many', `[${long('1,')}1]]`],
  ['no closing bracket', `[${long('1,')}1`],
  ['no closing quote', `["${long('x')}`],
  ['two values', `[${long('1,')}1] 2`],
  ['nothing', long(' ')],
  ['a line break in a string', `["${long('x')}\n"]`],
])('a long text is no JSON because of %s', async (_, text) => {
  expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
  expect(await failed(text)).toBe('SyntaxError');
});

test('a long text with one byte changed is JSON exactly where JSON.parse says so', async () => {
  const text = JSON.stringify({ a: [1, { b: long('x') }, [2, 3]], c: [0] });
  const places = [0, 1, 4, 5, 6, 7, 9, 10, 13, 14, 15, 300_016, 300_017, 300_018, 300_020, 300_024, 300_030];
  for (const place of places)
    for (const sign of ['"', ',', ':', ']', '{', ' ']) {
      const broken = text.slice(0, place) + sign + text.slice(place + 1);
      let isJson = true;
      try {
        JSON.parse(broken);
      } catch {
        isJson = false;
      }
      const result = await failed(broken);
      expect([place, sign, result === 'parsed']).toEqual([place, sign, isJson]);
    }
});

test('members of a long or a short object are replaced, and the others stay as they are', async () => {
  for (const data of [[1, 2], Array.from({ length: LONG }, (_, index) => index)]) {
    const json = await parsed(
      JSON.stringify({ 'a"b': { model: 'inner' }, model: 'theirs', data, usage: { cost: 1 } }),
    );
    const text = withMembers(json, { model: 'ours', usage: { total: 1 }, absent: undefined });
    expect(JSON.parse(text)).toEqual({ 'a"b': { model: 'inner' }, data, model: 'ours', usage: { total: 1 } });
  }
});

test('other work has its turn while a long text is parsed', async () => {
  const turns = await turnsDuring(() => parsed(`[${'{},'.repeat(900_000)}"${'\\n'.repeat(4_000_000)}"]`));
  expect(turns).toBeGreaterThan(30);
});
