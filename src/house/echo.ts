import type { ChatRequest } from '../wire/openai/chat.ts';
import { UpstreamFailure } from '../upstream/port.ts';
import type { ReplyPacing } from './answer.ts';
import { parseCommands, type Commands } from './commands.ts';
import {
  answerFormatOf,
  attachmentsOf,
  lastUserMessage,
  messageText,
  toolChoiceOf,
  trailingToolResults,
} from './conversation.ts';
import { hashText } from './paint/random.ts';
import { textReply, type HouseReply, type ReplyPart } from './reply.ts';
import { schemaSample } from './sample.ts';
import { describeAttachments } from './attachments.ts';
import { tokenCount } from './tokens.ts';

/** What house-echo answers, and how. The same request always gets the same answer. */
export function echo(request: ChatRequest): { readonly reply: HouseReply; readonly delivery: ReplyPacing } {
  const message = lastUserMessage(request);
  const commands = parseCommands(message ? messageText(message) : '');
  const breaks = commands.error === undefined ? undefined : breakOf(commands.error);
  const reply = replyTo(request, commands);
  const thought: ReplyPart[] = commands.think ? [{ kind: 'reasoning', text: thoughtOn(commands) }] : [];
  return {
    reply: { ...reply, parts: [...thought, ...reply.parts] },
    delivery: { pauseMs: commands.slowMs ?? 0, breaks },
  };
}

function replyTo(request: ChatRequest, commands: Commands): HouseReply {
  const results = trailingToolResults(request);
  // Tool results end the round trip: calling the tool again would loop endlessly.
  if (results.length > 0) return textReply(resultSentence(results));
  const calls = toolCalls(request, commands);
  if (calls) return calls;
  if (commands.longTokens !== undefined) return textReply(longText(commands.longTokens));
  const format = answerFormatOf(request);
  if (format.kind === 'schema') return textReply(JSON.stringify(schemaSample(format.schema)));
  if (format.kind === 'json' || commands.json) return textReply(JSON.stringify({ echo: commands.text }));
  if (commands.help) return textReply(HELP);
  const attachments = attachmentsOf(lastUserMessage(request));
  if (commands.see || attachments.length > 0) {
    return textReply(
      [commands.text, describeAttachments(attachments)].filter((text) => text !== '').join('\n\n'),
    );
  }
  return textReply(commands.text === '' ? HELP : commands.text);
}

function toolCalls(request: ChatRequest, commands: Commands): HouseReply | undefined {
  const choice = toolChoiceOf(request);
  const offered = (request.tools ?? []).flatMap((tool) => (tool.function ? [tool.function] : []));
  const names = offered.map((tool) => tool.name);
  const first = names[0];
  const forced = choice.kind === 'named' ? choice.name : choice.kind === 'required' ? first : undefined;
  const asked =
    commands.tools.length > 0
      ? commands.tools
      : forced === undefined
        ? []
        : [{ name: forced, arguments: '' }];
  if (asked.length === 0 || choice.kind === 'none') return undefined;
  const missing = asked.find((call) => !names.includes(call.name));
  if (missing)
    return textReply(
      `I was not given a tool named '${missing.name}'. ${names.length === 0 ? 'No tools came with the request.' : `I have: ${names.join(', ')}.`}`,
    );
  const wrong = asked.find((call) => call.arguments !== '' && !isJson(call.arguments));
  if (wrong) return textReply(`The arguments for '${wrong.name}' are not valid JSON: ${wrong.arguments}`);
  const parts = asked.map((call, index): ReplyPart => {
    const schema = offered.find((tool) => tool.name === call.name)?.parameters;
    const given = call.arguments === '' ? JSON.stringify(schema ? schemaSample(schema) : {}) : call.arguments;
    const id = hashText(`${request.messages.length}:${index}:${call.name}:${given}`).toString(36);
    return { kind: 'tool', id: `call_${id.padStart(7, '0')}${index}`, name: call.name, arguments: given };
  });
  return { parts, finish: 'tool_calls' };
}

function resultSentence(results: readonly { name: string; result: string }[]): string {
  return results
    .map(({ name, result }) => `The tool ${name} answered: ${result === '' ? '(nothing)' : result}`)
    .join('\n');
}

function thoughtOn(commands: Commands): string {
  const size = tokenCount(commands.text);
  return `The message has ${size} token${size === 1 ? '' : 's'} besides its commands. I am told to think first, so I do: the honest answer is to repeat it.`;
}

/** Exactly as many tokens as requested: every word, with the space before it, is one. */
function longText(tokens: number): string {
  return Array.from({ length: tokens }, (_, index) => LONG_WORDS[index % LONG_WORDS.length]).join(' ');
}

const LONG_WORDS = [
  'each',
  'word',
  'is',
  'one',
  'token',
  'and',
  'every',
  'token',
  'has',
  'its',
  'price',
  'so',
  'count',
  'them',
];

/** Failures before the first byte are thrown; the others break the delivery. */
function breakOf(code: string): ReplyPacing['breaks'] {
  switch (code) {
    case 'stream':
      return 'event';
    case 'cut':
    case 'stall':
      return code;
    default:
      throw failureFor(code);
  }
}

/** A requested failure must not count against the backend, or one account could make it unavailable for all. */
function failureFor(code: string): UpstreamFailure {
  const told = 'house-echo was told to fail';
  const blameless = true;
  switch (code) {
    case 'timeout':
      return new UpstreamFailure('timeout', told, { blameless });
    case 'connect':
      return new UpstreamFailure('connect', told, { blameless });
    case '429':
      return new UpstreamFailure('rate_limited', told, { status: 429, retryAfterMs: 1_000, blameless });
    case '401':
      return new UpstreamFailure('unauthorized', told, { status: 401, blameless });
    case '403':
      return new UpstreamFailure('forbidden', told, { status: 403, blameless });
    case '400':
      return new UpstreamFailure('rejected', told, {
        status: 400,
        publicMessage: 'house-echo rejected the request because it was told to.',
      });
    default:
      return new UpstreamFailure('server', told, {
        status: /^5\d\d$/.test(code) ? Number(code) : 500,
        blameless,
      });
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // Invalid JSON is an expected result.
    return false;
  }
}

const HELP = `I am house-echo: I repeat what you write. A line that begins with a slash is a command:

- \`/tool NAME {json}\` calls a tool you offered
- \`/slow MS\` waits between chunks
- \`/long N\` answers with N tokens
- \`/json\` answers with JSON, valid for your schema
- \`/think\` sends reasoning first
- \`/see\` describes attached images
- \`/error CODE\` fails: 400, 401, 429, 500, timeout, connect, stream, cut or stall`;
