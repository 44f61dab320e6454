import { z } from 'zod';
import { json } from '../http/response.ts';
import { COMMON_ERRORS, OPENAI_ERRORS } from './errors.ts';
import type { ApiOperation } from './operation.ts';

export const hello: ApiOperation = {
  id: 'hello',
  method: 'GET',
  path: '/api/hello',
  tag: 'Anthropic-compatible',
  summary: 'Check that the server answers',
  description: "Anthropic's own client asks before its first request.",
  token: 'none',
  answer: {
    description: 'Somebody is',
    headers: 'none',
    body: { name: 'Hello', schema: z.object({ ok: z.literal(true) }), examples: { example: { ok: true } } },
  },
  errors: COMMON_ERRORS,
  dialect: OPENAI_ERRORS,
  handle: () => async (incoming) => json({ ok: true }, incoming.requestId),
};
