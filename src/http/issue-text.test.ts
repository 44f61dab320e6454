import { expect, test } from 'bun:test';
import { z } from 'zod';
import { parseBody } from './request-body.ts';

const SCHEMA = z.looseObject({
  temperature: z.number().max(2).optional(),
  count: z.int().min(1).optional(),
  share: z.number().gt(0).optional(),
  list: z.array(z.string()).min(1).max(2).optional(),
  name: z.string().max(3).optional(),
  stream: z.boolean().optional(),
  input: z.union([z.string(), z.array(z.string())]).optional(),
  role: z.enum(['user', 'assistant', 'tool']).optional(),
  amount: z.string().regex(/^\d+$/, { error: 'an amount is a number, like 25' }).optional(),
});

test.each([
  [{ temperature: 3 }, 'temperature must be at most 2.'],
  [{ temperature: 'hot' }, 'temperature must be a number.'],
  [{ count: 1.5 }, 'count must be a whole number.'],
  [{ count: 0 }, 'count must be at least 1.'],
  [{ share: 0 }, 'share must be more than 0.'],
  [{ list: [] }, 'list must have at least 1 item.'],
  [{ list: ['a', 'b', 'c'] }, 'list must have at most 2 items.'],
  [{ list: [7] }, 'list.0 must be a text.'],
  [{ name: 'long' }, 'name must have at most 3 characters.'],
  [{ stream: 'yes' }, 'stream must be true or false.'],
  [{ input: 7 }, 'input must be a text or a list.'],
  [{ role: 'king' }, 'role must be "user", "assistant" or "tool".'],
  [{ amount: 'x' }, 'amount: an amount is a number, like 25'],
])('what is wrong with %j is a sentence', (body, message) => {
  expect(() => parseBody(SCHEMA, body)).toThrow(message);
});
