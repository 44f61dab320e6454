import type { GoldenCase } from '../case.ts';
import { DIALECTS, post, PUBLIC_CHAT, V1_CHAT, type Dialect } from './dialects.ts';
import {
  ANSWERS,
  chunk,
  completion,
  DONE,
  event,
  eventsReply,
  FIRST,
  jsonReply,
  streamed,
  USAGE,
  USAGE_EVENT,
  type AnswerName,
} from './replies.ts';

/** Which answer meets which kind of request, whole and streamed, in every dialect. */
const PAIRS: readonly (readonly [kind: string, answer: AnswerName])[] = [
  ['text', 'text'],
  ['tool', 'tool'],
  ['parallel-tools', 'parallel-tools'],
  ['tool-results', 'text'],
  ['images', 'text'],
  ['json', 'json'],
  ['reasoning', 'reasoning'],
];

/** Answers that need no special request. */
const PLAIN: readonly AnswerName[] = ['length', 'refusal', 'filtered', 'uncounted'];

export function chatCases(): GoldenCase[] {
  return [
    ...DIALECTS.flatMap((dialect) => [
      ...PAIRS.filter(([kind]) => !dialect.isTwin || kind === 'text' || kind === 'tool').flatMap(
        ([kind, answer]) => both(dialect, kind, answer, dialect.kinds[kind]),
      ),
      ...PLAIN.filter((answer) => !dialect.isTwin || answer === 'uncounted').flatMap((answer) =>
        both(dialect, answer, answer),
      ),
    ]),
    ...openAiOnly(PUBLIC_CHAT),
    ...selectors(),
  ];
}

function both(
  dialect: Dialect,
  kind: string,
  answer: AnswerName,
  fields: Record<string, unknown> = {},
): GoldenCase[] {
  const { operation, path } = dialect;
  return [
    {
      name: `${operation}/${kind}`,
      steps: [{ send: post(path, dialect.ask(fields)) }],
      replies: [ANSWERS[answer].whole],
    },
    {
      name: `${operation}/${kind}-streamed`,
      steps: [{ send: post(path, dialect.ask({ ...fields, stream: true })) }],
      replies: [ANSWERS[answer].stream],
    },
  ];
}

/** What only OpenAI's dialect can ask for. */
function openAiOnly(dialect: Dialect): GoldenCase[] {
  const { operation, path } = dialect;
  const two = [0, 1].map((index) => ({
    index,
    message: { role: 'assistant', content: `Choice ${index}` },
    finish_reason: 'stop',
    logprobs: null,
  }));
  const twoStreamed = [0, 1].map((index) =>
    chunk({ role: 'assistant', content: `Choice ${index}` }, null, index),
  );
  const twoEnds = [0, 1].map((index) => chunk({}, 'stop', index));
  return [
    {
      name: `${operation}/choices`,
      steps: [{ send: post(path, dialect.ask({ n: 2 })) }],
      replies: [completion({}, 'stop', { choices: two, usage: USAGE, system_fingerprint: 'fp_1' })],
    },
    {
      name: `${operation}/choices-streamed`,
      steps: [{ send: post(path, dialect.ask({ n: 2, stream: true })) }],
      replies: [eventsReply([...twoStreamed, ...twoEnds, USAGE_EVENT, DONE].join(''))],
    },
    {
      name: `${operation}/usage-asked-for-streamed`,
      steps: [{ send: post(path, dialect.ask({ stream: true, stream_options: { include_usage: true } })) }],
      replies: [ANSWERS.text.stream],
    },
    {
      name: `${operation}/usage-asked-for-and-not-told-streamed`,
      steps: [{ send: post(path, dialect.ask({ stream: true, stream_options: { include_usage: true } })) }],
      replies: [ANSWERS.uncounted.stream],
    },
    {
      name: `${operation}/unusual-events-streamed`,
      steps: [{ send: post(path, dialect.ask({ stream: true })) }],
      replies: [
        eventsReply(
          [
            ': a comment\n\n',
            FIRST,
            'event: message\nid: 7\n',
            chunk({ content: 'One' }),
            chunk({ content: 'Two' }).replaceAll('\n', '\r\n'),
            event({
              choices: [{ index: 0, delta: { content: 'Three' }, logprobs: { content: [] } }],
              new: 1,
            }),
            ...Array.from({ length: 12 }, (_, index) => chunk({ content: ` ${index}` })),
            chunk({}, 'stop'),
            event({ choices: [], usage: USAGE, model: 'backend-model-2' }),
            DONE,
            chunk({ content: 'after the end' }),
          ].join(''),
        ),
      ],
    },
    {
      name: `${operation}/sparse-answer`,
      steps: [{ send: post(path, dialect.ask()) }],
      replies: [jsonReply({ choices: [{ index: 0, message: { role: 'assistant', content: 'Sparse' } }] })],
    },
    {
      name: `${operation}/nested-names`,
      steps: [{ send: post(path, dialect.ask()) }],
      replies: [
        jsonReply({
          origin: { model: 'nested-model', id: 'nested-id' },
          id: 'chatcmpl-backend',
          object: 'chat.completion',
          created: 1_700_000_000,
          model: 'backend-model',
          choices: [
            { index: 0, message: { role: 'assistant', content: '"model":"x"' }, finish_reason: 'stop' },
          ],
          usage: USAGE,
        }),
      ],
    },
    {
      name: `${operation}/other-backend-options-streamed`,
      steps: [
        {
          send: post(
            path,
            dialect.ask({ stream: true, max_tokens: 50 }, { endpoint: 'plain_chat', model: 'plain' }),
          ),
        },
      ],
      replies: [ANSWERS.uncounted.stream],
    },
    {
      name: `${operation}/free-model-with-another-name`,
      steps: [{ send: post(path, dialect.ask({}, { endpoint: 'svc_chat', model: 'free' })) }],
      replies: [ANSWERS.text.whole],
    },
    {
      name: `${operation}/cap-lowered-by-balance`,
      account: { usd: '0.004' },
      steps: [{ send: post(path, dialect.ask({ max_tokens: 4096 })) }],
      replies: [ANSWERS.text.whole],
    },
    {
      name: `${operation}/cap-lowered-by-balance-streamed`,
      account: { usd: '0.004' },
      steps: [{ send: post(path, dialect.ask({ max_completion_tokens: 4096, stream: true })) }],
      replies: [ANSWERS.text.stream],
    },
    {
      name: `${operation}/used-more-than-held`,
      steps: [{ send: post(path, dialect.ask({ max_tokens: 5 })) }],
      replies: [
        completion({ content: 'Long' }, 'stop', {
          usage: { prompt_tokens: 9, completion_tokens: 400_000, total_tokens: 400_009 },
        }),
      ],
    },
  ];
}

/** The ways to name an endpoint and a model. */
function selectors(): GoldenCase[] {
  const body = { messages: [{ role: 'user', content: 'Hi' }] };
  const named = (name: string, path: string, fields: Record<string, unknown>): GoldenCase => ({
    name,
    steps: [{ send: post(path, { ...body, ...fields }) }],
    replies: [ANSWERS.text.whole],
  });
  const { path } = PUBLIC_CHAT;
  return [
    named('chat/endpoint-code', path, { endpoint_code: 'svc_chat', model: 'm' }),
    named('chat/both-selectors', path, { endpoint: 'svc_chat', endpoint_code: 'svc_chat', model: 'm' }),
    named('chat/endpoint-in-model', path, { model: 'svc_chat/m' }),
    named('v1-chat/alias', V1_CHAT.path, { model: 'fast' }),
    named('v1-chat/bare-model', V1_CHAT.path, { model: 'm' }),
    {
      name: 'v1-chat/responses-request',
      steps: [{ send: post(V1_CHAT.path, { model: 'svc_chat/m', input: 'Hi' }) }],
      replies: [ANSWERS.text.whole],
    },
    {
      name: 'v1-chat/responses-request-streamed',
      steps: [{ send: post(V1_CHAT.path, { model: 'svc_chat/m', input: 'Hi', stream: true }) }],
      replies: [streamed([{ content: 'Hello' }])],
    },
  ];
}
