import { expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { chatRequestSchema, ordinaryChat } from './chat.ts';

/** Chats that are taken without the schema, against the schema. */

const number = fc.oneof(
  fc.constantFrom(
    -2.1,
    -2,
    -1,
    0,
    0.5,
    1,
    1.01,
    2,
    2.01,
    8,
    9,
    256,
    10_000_000,
    10_000_001,
    NaN,
    Infinity,
    -0,
  ),
  fc.double(),
);
const strange = fc.oneof(
  fc.constant(null),
  fc.constant(undefined),
  fc.string(),
  fc.boolean(),
  number,
  fc.constant([]),
  fc.constant({}),
);
const role = fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool', 'function', 'nobody');
const text = fc.record({ role: fc.constantFrom('system', 'user', 'assistant'), content: fc.string() });
const message = fc.oneof(
  text,
  fc.record({ role, content: fc.oneof(fc.string(), strange) }),
  fc.record({ role, content: fc.string(), name: strange }),
  fc.record({ role }),
  fc.record({ content: fc.string() }),
  text.map(({ role: of, content }) => ({ content, role: of })),
  strange,
);
const ordinary = fc.record(
  {
    model: fc.string({ minLength: 1 }),
    messages: fc.array(text, { minLength: 1, maxLength: 3 }),
    stream: fc.boolean(),
    temperature: fc.double({ min: 0, max: 2, noNaN: true }),
    n: fc.integer({ min: 1, max: 8 }),
    max_tokens: fc.integer({ min: 1, max: 10_000_000 }),
  },
  { requiredKeys: ['model', 'messages'] },
);
const NUMBERS = ['temperature', 'top_p', 'frequency_penalty', 'presence_penalty', 'n', 'max_tokens'];
const changed = fc.oneof(
  fc.constant({}),
  fc.record({ messages: fc.array(message, { maxLength: 3 }) }),
  fc.record({ model: fc.oneof(strange, fc.constantFrom('', 'm'.repeat(256), 'm'.repeat(257))) }),
  fc
    .tuple(fc.constantFrom(...NUMBERS, 'max_completion_tokens'), number)
    .map(([field, value]) => ({ [field]: value })),
  fc
    .tuple(fc.constantFrom(...NUMBERS, 'messages', 'stream', 'seed', 'stop', 'user', 'tools'), strange)
    .map(([field, value]) => ({ [field]: value })),
);
const body = fc
  .tuple(ordinary, changed, fc.boolean())
  .map(([chat, other, isFirst]) => (isFirst ? { ...other, ...chat, ...other } : { ...chat, ...other }));

test('what is taken without the schema is what the schema makes of it, field by field', () => {
  let taken = 0;
  fc.assert(
    fc.property(body, (asked) => {
      const chat = ordinaryChat(asked);
      if (!chat) return;
      taken++;
      // As text: the order of fields is what a backend gets.
      expect(JSON.stringify(chat)).toBe(JSON.stringify(chatRequestSchema.parse(asked)));
    }),
    { numRuns: 6_000 },
  );
  expect(taken).toBeGreaterThan(1_000);
});

test('an ordinary chat needs no schema; parts, tools, names and what is wrong do', () => {
  const chat = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };
  const isOrdinary = (more: object): boolean => ordinaryChat({ ...chat, ...more }) !== undefined;
  expect(isOrdinary({})).toBe(true);
  expect(isOrdinary({ temperature: 0.7, max_tokens: 256, stream: true, endpoint: undefined })).toBe(true);
  expect(isOrdinary({ messages: [{ role: 'user', content: [] }] })).toBe(false);
  expect(isOrdinary({ messages: [{ role: 'user', content: 'a', name: 'b' }] })).toBe(false);
  expect(isOrdinary({ messages: [] })).toBe(false);
  expect(isOrdinary({ tools: [] })).toBe(false);
  expect(isOrdinary({ max_tokens: 1.5 })).toBe(false);
  const withProto = JSON.parse(
    '{"model":"m","messages":[{"role":"user","content":""}],"__proto__":{}}',
  ) as object;
  expect(ordinaryChat({ ...chat, ...withProto })).toBeUndefined();
});
