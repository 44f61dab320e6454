import { UpstreamFailure } from '../upstream/port.ts';
import type { ChatRequest, ChatTool, ContentPart } from '../wire/openai/chat.ts';
import type { ReplyPacing } from './answer.ts';
import {
  answerFormatOf,
  attachmentsOf,
  lastUserMessage,
  messageText,
  toolChoiceOf,
  trailingToolResults,
  dataOf,
  type AnswerFormat,
} from './conversation.ts';
import { hashText } from './paint/random.ts';
import { textReply, type HouseReply, type ReplyPart } from './reply.ts';
import { schemaSample } from './sample.ts';
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
  const calls = toolCalls(request, results.length > 0 ? nextCalls(request) : askedCalls(request, commands));
  if (calls) return calls;
  const format = answerFormatOf(request);
  if (results.length > 0) return inFormat(format, resultSentence(results));
  if (commands.longTokens !== undefined) return textReply(longText(commands.longTokens));
  if (format.kind !== 'text' || commands.json)
    return inFormat(format.kind === 'text' ? { kind: 'json' } : format, commands.text);
  if (commands.help) return textReply(HELP);
  const attachments = attachmentsOf(lastUserMessage(request));
  if (commands.see || attachments.length > 0) {
    return textReply(
      [commands.text, describeAttachments(attachments)].filter((text) => text !== '').join('\n\n'),
    );
  }
  return textReply(commands.text === '' ? HELP : commands.text);
}

function inFormat(format: AnswerFormat, text: string): HouseReply {
  switch (format.kind) {
    case 'schema':
      return textReply(JSON.stringify(schemaSample(format.schema)));
    case 'json':
      return textReply(JSON.stringify({ echo: text }));
    case 'text':
      return textReply(text);
  }
}

interface AskedCall {
  readonly name: string;
  /** Empty: made to fit the tool's schema. */
  readonly arguments: string;
}

function askedCalls(request: ChatRequest, { tools }: Commands): readonly AskedCall[] {
  return tools.length > 0 ? tools : forcedCall(request, offeredTools(request)[0]?.name);
}

/**
 * After a tool's result only a call that is demanded follows: calling it again by itself would loop endlessly. Agents that
 * demand a call each time wait for the tool that ends their work, which is one that was not called yet.
 */
function nextCalls(request: ChatRequest): readonly AskedCall[] {
  const called = new Set(
    request.messages.flatMap(({ tool_calls }) => (tool_calls ?? []).map((call) => call.function?.name)),
  );
  const names = offeredTools(request).map(({ name }) => name);
  return forcedCall(request, names.find((name) => !called.has(name)) ?? names.at(-1));
}

function forcedCall(request: ChatRequest, usual: string | undefined): readonly AskedCall[] {
  const choice = toolChoiceOf(request);
  const name = choice.kind === 'named' ? choice.name : choice.kind === 'required' ? usual : undefined;
  return name === undefined ? [] : [{ name, arguments: '' }];
}

function offeredTools({ tools }: ChatRequest): readonly NonNullable<ChatTool['function']>[] {
  return (tools ?? []).flatMap((tool) => (tool.function ? [tool.function] : []));
}

function toolCalls(request: ChatRequest, asked: readonly AskedCall[]): HouseReply | undefined {
  if (asked.length === 0 || toolChoiceOf(request).kind === 'none') return undefined;
  const offered = offeredTools(request);
  const names = offered.map((tool) => tool.name);
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

/** Commands to house-echo: lines of the last user message that begin with a slash. The rest is text to echo. */
interface Commands {
  readonly tools: readonly { readonly name: string; readonly arguments: string }[];
  readonly slowMs: number | undefined;
  readonly longTokens: number | undefined;
  readonly error: string | undefined;
  readonly json: boolean;
  readonly think: boolean;
  readonly see: boolean;
  readonly help: boolean;
  readonly text: string;
}

const MAX_SLOW_MS = 10_000;
const MAX_LONG_TOKENS = 100_000;
const MAX_TOOL_CALLS = 32;

function parseCommands(message: string): Commands {
  const lines = message.split('\n').map((line) => ({ line, match: COMMAND.exec(line.trim()) }));
  const given = lines.flatMap(({ match }) =>
    match ? [{ name: match[1] ?? '', rest: (match[2] ?? '').trim() }] : [],
  );
  const last = (name: string): string | undefined => given.findLast((command) => command.name === name)?.rest;
  return {
    tools: given
      .filter((command) => command.name === 'tool')
      .slice(0, MAX_TOOL_CALLS)
      .map((command) => parseTool(command.rest)),
    slowMs: bounded(last('slow'), MAX_SLOW_MS),
    longTokens: bounded(last('long'), MAX_LONG_TOKENS),
    error: last('error')?.toLowerCase(),
    json: last('json') !== undefined,
    think: last('think') !== undefined,
    see: last('see') !== undefined,
    help: last('help') !== undefined,
    text: lines
      .flatMap(({ line, match }) => (match ? trailing(match) : [line]))
      .join('\n')
      .trim(),
  };
}

const COMMAND = /^\/(tool|slow|long|error|json|think|see|help)(?:\s+(.*))?$/;

/** `/think What is it?` is a command and a text on one line. */
function trailing(match: RegExpExecArray): string[] {
  const takesText = match[1] === 'think' || match[1] === 'json' || match[1] === 'see';
  const afterNumber = match[1] === 'slow' ? (match[2] ?? '').replace(/^\d+\s*/, '') : '';
  const text = takesText ? (match[2] ?? '') : afterNumber;
  return text === '' ? [] : [text];
}

function parseTool(rest: string): { name: string; arguments: string } {
  const [name = ''] = rest.split(/\s/, 1);
  return { name, arguments: rest.slice(name.length).trim() };
}

function bounded(text: string | undefined, most: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number.parseInt(text, 10);
  return Number.isFinite(value) ? Math.min(most, Math.max(0, value)) : undefined;
}

/** Describes what was attached to a message: its kind, its size, and for images their dimensions. */
function describeAttachments(parts: readonly ContentPart[]): string {
  if (parts.length === 0) return 'I see no images, sound or files in your message.';
  const images = parts.filter((part) => part.type === 'image_url').length;
  const others = parts.length - images;
  const counts = [
    images > 0 ? plural(images, 'image') : '',
    others > 0 ? plural(others, 'other attachment') : '',
  ];
  const lines = parts.map((part, index) => `${index + 1}. ${describePart(part)}`);
  return [`I see ${counts.filter((text) => text !== '').join(' and ')}:`, ...lines].join('\n');
}

function describePart(part: ContentPart): string {
  const data = dataOf(part);
  if (part.type === 'input_audio')
    return `sound, ${part.input_audio.format}, ${bytesText(base64Bytes(data))}`;
  const match = /^data:([^;,]*)((?:;[^;,]*)*),/.exec(data.slice(0, 256));
  if (!match)
    return part.type === 'file' ? 'a file by reference' : `a link to ${hostOf(data)} (links are not opened)`;
  const payload = data.slice(match[0].length);
  const size = match[2]?.includes('base64') ? base64Bytes(payload) : payload.length;
  const shape =
    part.type === 'image_url'
      ? dimensions(Buffer.from(payload.slice(0, HEAD_CHARACTERS), 'base64'))
      : undefined;
  return [match[1] === '' ? 'text/plain' : match[1], shape, bytesText(size)]
    .filter((text) => text !== undefined)
    .join(', ');
}

/** Enough to reach the frame header of a JPEG with a large preview in it. */
const HEAD_CHARACTERS = 262_144;

function dimensions(bytes: Buffer): string | undefined {
  if (bytes.length > 24 && bytes.readUInt32BE(0) === 0x89504e47)
    return `${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`;
  if (bytes.length > 10 && bytes.toString('latin1', 0, 3) === 'GIF')
    return `${bytes.readUInt16LE(6)}x${bytes.readUInt16LE(8)}`;
  if (bytes.length > 4 && bytes.readUInt16BE(0) === 0xffd8) return jpegDimensions(bytes);
  return undefined;
}

/** Follows the markers to the frame header, which contains height and width. */
function jpegDimensions(bytes: Buffer): string | undefined {
  let at = 2;
  while (at + 9 < bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0;
    const frame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (frame) return `${bytes.readUInt16BE(at + 7)}x${bytes.readUInt16BE(at + 5)}`;
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

function base64Bytes(data: string): number {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0;
  return Math.max(0, Math.floor((data.length * 3) / 4) - padding);
}

function bytesText(bytes: number): string {
  return `${bytes} bytes`;
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'somewhere';
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
