import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { openAiEncoder, presentCompletion } from './answer.ts';
import type { ChatChunk, ChatCompletion } from './chat.ts';

const LABELS = { id: 'req_ours', model: 'public-name' };
const NAMES = { id: 'chatcmpl-theirs', model: 'their-own-name' };

const shownChunk = (data: string): string => {
  const sent = openAiEncoder(LABELS, true).chunk(data, JSON.parse(data) as ChatChunk);
  return sent.slice('data: '.length).trimEnd();
};

const shownWhole = (text: string): string =>
  presentCompletion({ text, completion: JSON.parse(text) as ChatCompletion }, LABELS, undefined, 0).text;

const whole = { object: 'chat.completion', created: 1, choices: [{ index: 0, message: { content: 'Hi' } }] };

describe.each([
  ['a chunk', shownChunk],
  ['a whole answer', shownWhole],
])('%s has our id and model', (_, shown) => {
  test.each([
    ['names first', { ...NAMES, ...whole }],
    ['names last', { ...whole, ...NAMES }],
    ['the same names in an object before them', { routed: { ...NAMES }, ...whole, ...NAMES }],
    ['the same names in a list before them', { routes: [[{ ...NAMES }], { ...NAMES }], ...whole, ...NAMES }],
    ['the same names in an object after them', { ...NAMES, ...whole, routed: { ...NAMES } }],
    ['brackets in a text before them', { note: '}]{[ \\" "', routed: { ...NAMES }, ...whole, ...NAMES }],
    ['a key that ends in the same letters', { 'x"id': NAMES.id, 'x"model': NAMES.model, ...whole, ...NAMES }],
  ])('%s', (__, answer) => {
    const text = JSON.stringify(answer);
    const expected = { ...answer, ...LABELS };
    expect(JSON.parse(shown(text))).toEqual(expected);
    // Not serialised again: every other byte is the backend's own.
    expect(shown(text)).toBe(JSON.stringify(expected));
    expect(shown(`${text.slice(0, -1)}, "more" : 1.50}`)).toEndWith(', "more" : 1.50}');
  });

  test('whatever surrounds them', () => {
    const key = fc.constantFrom('id', 'model', 'a', 'x"id', '{', '\\');
    const name = fc.constantFrom(NAMES.id, NAMES.model, '"', ']');
    const { anything } = fc.letrec((tie) => ({
      anything: fc.oneof(
        { maxDepth: 3 },
        name,
        fc.array(tie('anything'), { maxLength: 3 }),
        fc.dictionary(key, tie('anything'), { maxKeys: 3 }),
      ),
    }));
    fc.assert(
      fc.property(anything, anything, (before, after) => {
        const answer = { before, ...whole, ...NAMES, after };
        expect(JSON.parse(shown(JSON.stringify(answer)))).toEqual({ ...answer, ...LABELS });
      }),
    );
  });

  test('names that are spaced, escaped or missing', () => {
    const [, ...rest] = JSON.stringify(whole);
    for (const names of [
      '"id" : "chatcmpl-theirs", "model" : "their-own-name",',
      '"id":"chatcmpl\\u002dtheirs","model":"their-own-name",',
      '"model":"their-own-name",',
      '',
    ])
      expect(JSON.parse(shown(`{${names}${rest.join('')}`))).toMatchObject({ ...whole, ...LABELS });
  });
});
