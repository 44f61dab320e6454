import { expect, test } from 'bun:test';
import { readJsonAnswer, type AnswerRules } from '../std/json-answer.ts';
import { CHAT_ANSWER, EMBEDDINGS_ANSWER } from './answer-rules.ts';

/** What counts as an answer of a backend at all. */

const read = (body: BodyInit, rules: AnswerRules = CHAT_ANSWER) => readJsonAnswer(new Response(body), rules);

test.each([
  ['not UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 'is not valid UTF-8'],
  ['not JSON', 'ok', 'is not JSON'],
  ['empty', '', 'is not JSON'],
  ['a page', '<html></html>', 'is not JSON'],
  ['five million objects', `[${'{},'.repeat(5_000_000)}1]`, 'has more than 500000 objects, arrays and keys'],
  ['four million brackets', '['.repeat(4_000_000), 'has more than 64 levels'],
  ['a few dozen brackets too many', '['.repeat(65) + ']'.repeat(65), 'has more than 64 levels'],
  ['two million values', `[${'1,'.repeat(2_000_000)}1]`, 'has more than 1000000 values'],
  ['a string of escapes', `["${'\\n'.repeat(2_000_000)}"]`, 'has more than 1000000 escapes in strings'],
  ['white space', `[1${' '.repeat(20_000_000)}]`, 'has more than 16777216 bytes outside of strings'],
  ['one long number', `[${'1'.repeat(3_000_000)},1]`, 'is not JSON'],
])('an answer that is %s is a failure of its backend', async (_, body, reason) => {
  const failure = await read(body).catch((error: unknown) => error);
  expect(failure).toMatchObject({
    name: 'UpstreamFailure',
    kind: 'protocol',
    message: `the answer ${reason}`,
  });
});

test('large answers that backends really give are read', async () => {
  const image = { data: [{ b64_json: 'A'.repeat(14_000_000) }, { b64_json: 'ab\\/'.repeat(100_000) }] };
  const alternative = { token: 'gate', logprob: -0.123456, bytes: [103, 97, 116, 101] };
  const top_logprobs = Array.from({ length: 20 }, () => alternative);
  const logprobs = { content: Array.from({ length: 2_000 }, () => ({ ...alternative, top_logprobs })) };
  for (const answer of [image, { choices: [{ logprobs }] }]) {
    const { text, value } = await read(JSON.stringify(answer));
    expect(JSON.stringify(value) === text).toBeTrue();
  }
  const vector = `{"embedding":[${'-0.0123456,'.repeat(3_071)}1]}`;
  const vectors = `{"data":[${`${vector},`.repeat(300)}${vector}]}`;
  const { value } = await read(vectors, EMBEDDINGS_ANSWER);
  expect((value as { data: unknown[] }).data).toHaveLength(301);
});
