import type { GoldenCase } from '../case.ts';
import type { Reply } from '../backend.ts';
import { BEARER, post } from './dialects.ts';
import {
  ANSWERS,
  chunk,
  completion,
  DONE,
  event,
  eventsReply,
  failure,
  FIRST,
  USAGE,
  USAGE_EVENT,
} from './replies.ts';

const PATH = '/v1/completions';
const ask = (more: Record<string, unknown> = {}) => ({ model: 'svc_chat/m', prompt: 'A gate is', ...more });

function answered(name: string, fields: Record<string, unknown>, reply: Reply): GoldenCase {
  return { name: `v1-completions/${name}`, steps: [{ send: post(PATH, ask(fields)) }], replies: [reply] };
}

function refused(name: string, fields: Record<string, unknown>): GoldenCase {
  return { name: `v1-completions/${name}`, steps: [{ send: post(PATH, ask(fields)) }] };
}

const LOGPROBS = {
  content: [
    {
      token: 'open',
      logprob: -0.5,
      bytes: [111],
      top_logprobs: [{ token: 'open', logprob: -0.5, bytes: null }],
    },
    { token: 'ed', logprob: -1, bytes: [101], top_logprobs: [{ token: 'ing', logprob: -0.9, bytes: null }] },
  ],
};
const twoChoices = [0, 1].map((index) =>
  chunk({ role: 'assistant', content: `Choice ${index}` }, null, index),
);
const twoEnds = [0, 1].map((index) => chunk({}, 'stop', index));
const withUsage = { stream: true, stream_options: { include_usage: true } };

/** OpenAI's older completions. */
export function textCompletionCases(): GoldenCase[] {
  const keyed = { send: post(PATH, ask(), { ...BEARER, 'idempotency-key': 'one' }) };
  return [
    answered(
      'text',
      {
        max_tokens: 100,
        temperature: 0.5,
        stop: ['END'],
        user: 'user-of-the-client',
        suffix: '',
        brand_new: 1,
      },
      ANSWERS.text.whole,
    ),
    answered('text-streamed', { stream: true }, ANSWERS.text.stream),
    answered('usage-asked-for-streamed', withUsage, ANSWERS.text.stream),
    answered('uncounted', { prompt: ['A gate is'] }, ANSWERS.uncounted.whole),
    answered('uncounted-streamed', withUsage, ANSWERS.uncounted.stream),
    answered('reasoning', {}, ANSWERS.reasoning.whole),
    answered('reasoning-streamed', { stream: true }, ANSWERS.reasoning.stream),
    answered('refusal-streamed', { stream: true }, ANSWERS.refusal.stream),
    answered('length', { max_tokens: 3 }, ANSWERS.length.whole),
    answered('echo', { echo: true }, ANSWERS.text.whole),
    answered(
      'echo-of-choices-streamed',
      { echo: true, n: 2, best_of: 2, stream: true },
      eventsReply([...twoChoices, ...twoEnds, USAGE_EVENT, DONE].join('')),
    ),
    answered(
      'logprobs',
      { logprobs: 1 },
      completion({}, 'stop', {
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: 'opened' },
            finish_reason: 'stop',
            logprobs: LOGPROBS,
          },
        ],
        usage: USAGE,
      }),
    ),
    answered(
      'logprobs-streamed',
      { logprobs: 1, stream: true },
      eventsReply(
        [
          FIRST,
          ...LOGPROBS.content.map((one) =>
            event({ choices: [{ index: 0, delta: { content: one.token }, logprobs: { content: [one] } }] }),
          ),
          chunk({}, 'stop'),
          DONE,
        ].join(''),
      ),
    ),
    answered('backend-error', {}, failure(500, 'secret details of the backend')),
    answered(
      'error-inside-streamed',
      withUsage,
      eventsReply(`${FIRST + chunk({ content: 'Half of' })}data: {"error":{"message":"overloaded"}}\n\n`),
    ),
    refused('no-prompt', { prompt: undefined }),
    refused('empty-prompt', { prompt: '' }),
    refused('two-prompts', { prompt: ['One', 'Two'] }),
    refused('prompt-of-tokens', { prompt: [1, 2, 3] }),
    refused('suffix', { suffix: 'the end' }),
    refused('best-of-several', { best_of: 3 }),
    refused('echo-with-logprobs', { echo: true, logprobs: 0 }),
    refused('too-many-logprobs', { logprobs: 6 }),
    refused('cap-by-another-name', { max_completion_tokens: 10 }),
    { name: 'v1-completions/no-token', steps: [{ send: post(PATH, ask(), {}) }] },
    {
      name: 'v1-completions/insufficient-balance',
      account: { usd: '0' },
      steps: [{ send: post(PATH, ask()) }],
    },
    {
      name: 'v1-completions/replay',
      replies: [ANSWERS.text.whole, completion({ content: 'Another answer' })],
      steps: [keyed, keyed],
    },
  ];
}
