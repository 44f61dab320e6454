import type { GoldenCase, Step } from '../case.ts';
import type { Reply } from '../backend.ts';
import { DIALECTS, post, PUBLIC_CHAT, type Dialect } from './dialects.ts';
import {
  ANSWERS,
  chunk,
  DONE,
  eventsReply,
  failure,
  FIRST,
  jsonReply,
  streamed,
  USAGE_EVENT,
} from './replies.ts';

/** A backend that fails, in every dialect: what the client is told, and what it is charged. */
interface Failing {
  readonly name: string;
  readonly stream?: boolean;
  readonly replies: readonly Reply[];
  readonly during?: Step['during'];
}

const nothing: Reply = { body: '', after: 'held' };
const cutAtOnce: Reply = { ...jsonReply('{"id":"chatcmpl-backend","choi'), after: 'cut' };
const begun = FIRST + chunk({ content: 'Half of' });
const ERROR_EVENT = 'data: {"error":{"message":"overloaded at http://10.0.0.1","type":"server_error"}}\n\n';

const FAILING: readonly Failing[] = [
  { name: 'backend-error', replies: [failure(500, 'secret details of the backend')] },
  { name: 'backend-busy-then-well', replies: [failure(503, 'busy'), ANSWERS.text.whole] },
  { name: 'backend-busy-twice', replies: [failure(503, 'busy', { 'retry-after': '7' })] },
  { name: 'backend-rate-limit', replies: [failure(429, 'slow down', { 'retry-after-ms': '1500' })] },
  { name: 'backend-refuses-key', replies: [failure(401, 'bad key')] },
  { name: 'backend-knows-no-model', replies: [failure(404, 'no such model')] },
  { name: 'backend-rejects', replies: [failure(400, 'temperature is too warm, see https://a.example/x')] },
  {
    name: 'backend-context-exceeded',
    replies: [failure(400, "This model's maximum context length is 8192 tokens.")],
  },
  { name: 'backend-garbage', replies: [jsonReply('<html>not JSON</html>')] },
  { name: 'backend-redirects', replies: [{ status: 302, headers: { location: '/elsewhere' }, body: '' }] },
  {
    name: 'backend-breaks-off',
    replies: [cutAtOnce, failure(500, 'broken')],
    during: { happens: 'backend goes on' },
  },
  {
    name: 'backend-silent',
    stream: true,
    replies: [nothing],
    during: { happens: 'a minute passes' },
  },
  { name: 'backend-error-streamed', stream: true, replies: [failure(500, 'secret details')] },
  { name: 'whole-answer-to-streamed', stream: true, replies: [ANSWERS.text.whole] },
  { name: 'error-as-first-event-streamed', stream: true, replies: [eventsReply(ERROR_EVENT + DONE)] },
  { name: 'empty-streamed', stream: true, replies: [eventsReply('')] },
  { name: 'error-inside-streamed', stream: true, replies: [eventsReply(begun + ERROR_EVENT)] },
  { name: 'garbage-inside-streamed', stream: true, replies: [eventsReply(`${begun}data: {"broken\n\n`)] },
  { name: 'end-without-finish-streamed', stream: true, replies: [eventsReply(begun)] },
  { name: 'end-without-done-streamed', stream: true, replies: [streamed([{ content: 'Hi' }], 'stop', '')] },
  {
    name: 'cut-streamed',
    stream: true,
    replies: [eventsReply(begun, 'cut')],
    during: { seen: 'Half of', happens: 'backend goes on' },
  },
  {
    name: 'cut-after-usage-streamed',
    stream: true,
    replies: [eventsReply(begun + USAGE_EVENT, 'cut')],
    during: { seen: 'Half of', happens: 'backend goes on' },
  },
  {
    name: 'silence-inside-streamed',
    stream: true,
    replies: [eventsReply(begun, 'silence')],
    during: { seen: 'Half of', happens: 'a minute passes' },
  },
  {
    name: 'client-leaves-streamed',
    stream: true,
    replies: [eventsReply(begun, 'silence')],
    during: { seen: 'Half of', happens: 'client leaves' },
  },
];

export function failureCases(): GoldenCase[] {
  return [
    ...DIALECTS.flatMap((dialect) => failingFor(dialect).map((failing) => failingCase(dialect, failing))),
    ...spares(),
  ];
}

const TWIN_FAILURES = /^(?:backend-error|backend-rejects|error-inside-streamed|cut-streamed)$/;
const WHOLE_FAILURES = /^(?:backend-error|backend-rejects|backend-rate-limit|backend-context-exceeded)$/;

/**
 * Before an answer begins, failures are reported by the same code for all dialects; in a stream each dialect has its
 * own way.
 */
function failingFor(dialect: Dialect): readonly Failing[] {
  if (dialect === PUBLIC_CHAT) return FAILING;
  if (dialect.isTwin) return FAILING.filter(({ name }) => TWIN_FAILURES.test(name));
  return FAILING.filter(({ name, stream }) => stream || WHOLE_FAILURES.test(name));
}

function failingCase(dialect: Dialect, { name, stream = false, replies, during }: Failing): GoldenCase {
  const send = post(dialect.path, dialect.ask(stream ? { stream } : {}));
  return {
    name: `${dialect.operation}/${name}`,
    fresh: true,
    replies,
    steps: [{ send, ...(during ? { during } : {}) }],
  };
}

/** Two backends, the second for when the first fails before it has answered. */
function spares(): GoldenCase[] {
  const route = { endpoint: 'spare_chat', model: 'spare' };
  const spare = (name: string, stream: boolean, replies: readonly Reply[]): GoldenCase => ({
    name: `chat/${name}`,
    fresh: true,
    replies,
    steps: [{ send: post(PUBLIC_CHAT.path, PUBLIC_CHAT.ask(stream ? { stream } : {}, route)) }],
  });
  return [
    spare('spare-answers', false, [failure(500, 'broken'), ANSWERS.text.whole]),
    spare('spare-answers-streamed', true, [eventsReply(ERROR_EVENT), ANSWERS.text.stream]),
    spare('spare-fails-too', false, [failure(500, 'broken'), failure(429, 'slow down')]),
    spare('spare-not-asked-when-rejected', false, [failure(422, 'n is not possible')]),
  ];
}
