import type { Fault } from '../../std/fault.ts';
import { parseJsonAtOnce, withMembers, type JsonText } from '../../std/json-parse.ts';
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  endOfString,
  EVENT_LIMITS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../../std/json-scan.ts';
import { formatUsd, type NanoUsd } from '../../std/money.ts';
import { faultBody } from '../fault-body.ts';
import type { ChatChunk, ChatCompletion, ChatUsage } from './chat.ts';

/**
 * Encodes the canonical events of a stream in the client's dialect. One encoder serves one stream; an empty string
 * means that the client gets nothing for this event.
 */
export interface ChatEncoder {
  /** `data` is the event as the backend sent it, `chunk` the same parsed. */
  chunk(data: string, chunk: ChatChunk): string;
  error(fault: Fault): string;
  /** `charged` is what the request cost, if that is settled. */
  done(charged?: NanoUsd): string;
  /**
   * Chunks that differ in one string are encoded as texts that differ only in that string, so that one can be the
   * template for the others.
   */
  readonly isUniform?: boolean;
  /** Sent when nothing else is; absent: a comment of server-sent events. */
  readonly keepAlive?: string;
}

/** OpenAI's own dialect: the backend's text with id and model replaced, usage only if the client asked for it. */
export function openAiEncoder(labels: ShownLabels, includeUsage: boolean, showsCost = false): ChatEncoder {
  /** The last usage, which waits for what the request cost. */
  let waiting = '';
  const sendWaiting = (charged?: NanoUsd): string => {
    const text = waiting;
    waiting = '';
    return text === '' ? '' : `data: ${withCost(text, charged)}\n\n`;
  };
  return {
    chunk(data, chunk) {
      if (isUsageOnly(chunk) && !includeUsage) return '';
      const text = relabelled(data, chunk, labels);
      const before = sendWaiting();
      if (!(showsCost && includeUsage && isLastUsage(chunk))) return `${before}data: ${text}\n\n`;
      waiting = text;
      return before;
    },
    error: (fault) => `${sendWaiting()}data: ${JSON.stringify(faultBody(fault))}\n\n`,
    done: (charged) => `${sendWaiting(charged)}data: [DONE]\n\n`,
    isUniform: true,
  };
}

/** In a chunk of its own, or in the one that ends the answer. Usage that comes with text is not the last. */
function isLastUsage({ usage, choices }: ChatChunk): boolean {
  return usage != null && (choices ?? []).every((choice) => choice.finish_reason != null);
}

/** What the request cost, in the usage of an answer or a chunk: `cost`, a number of US dollars. */
export function withCost(text: string, charged: NanoUsd | undefined): string {
  if (charged === undefined) return text;
  const member = `"cost":${formatUsd(charged)}`;
  const start = text.lastIndexOf(USAGE_MEMBER);
  if (start !== -1 && isLastOfOutermost(text, start)) {
    const inside = start + USAGE_MEMBER.length;
    const comma = text.charCodeAt(inside) === CLOSE_BRACE ? '' : ',';
    return text.slice(0, inside) + member + comma + text.slice(inside);
  }
  const parsed = JSON.parse(text) as { usage?: object | null };
  return JSON.stringify({ ...parsed, usage: { cost: Number(formatUsd(charged)), ...parsed.usage } });
}

const USAGE_MEMBER = '"usage":{';

/** Whether an object member at this place belongs to the outermost object: what follows it closes nothing else. */
function isLastOfOutermost(text: string, start: number): boolean {
  let depth = 1;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
    if (depth === 0) return text.slice(at + 1).trim() === '';
  }
  return false;
}

/** A usage chunk of our own, for backends that send none. */
export function usageChunk(labels: ShownLabels, usage: ChatUsage, nowMs: number): ChatChunk {
  return {
    ...labels,
    object: 'chat.completion.chunk',
    created: Math.floor(nowMs / 1000),
    choices: [],
    usage,
  };
}

/** OpenAI's usage chunk: no choices, only numbers. */
function isUsageOnly(chunk: ChatChunk): boolean {
  return chunk.usage != null && (chunk.choices?.length ?? 0) === 0;
}

/** A backend's whole answer as the client gets it, as text and as an object; each is made on demand. */
export interface ShownCompletion {
  readonly text: string;
  readonly completion: ChatCompletion;
  /** `text` is the backend's own answer, in the client's dialect. */
  readonly passThrough: boolean;
}

interface Whole {
  readonly text: string;
  readonly completion: ChatCompletion;
  readonly members?: JsonText['members'];
  readonly passThrough?: boolean;
}

/**
 * Puts our id and the model's public name into a backend's answer, and a usage if the backend reported none. Text that
 * needs nothing else is not serialised again.
 */
export function presentCompletion(
  whole: Whole,
  labels: ShownLabels,
  counted: ChatUsage | undefined,
  nowMs: number,
): ShownCompletion {
  return new Shown(whole, labels, counted, nowMs);
}

class Shown implements ShownCompletion {
  readonly #whole: Whole;
  readonly #labels: ShownLabels;
  readonly #counted: ChatUsage | undefined;
  /** The time of the answer, if it does not say when it was created. */
  readonly #nowMs: number;

  constructor(whole: Whole, labels: ShownLabels, counted: ChatUsage | undefined, nowMs: number) {
    this.#nowMs = nowMs;
    this.#whole = whole;
    this.#labels = labels;
    this.#counted = counted;
  }

  get passThrough(): boolean {
    return this.#whole.passThrough ?? false;
  }

  get text(): string {
    const { text, completion, members } = this.#whole;
    if (this.passThrough) return text;
    if (members) return withMembers({ text, value: completion, members }, this.#shownMembers());
    const complete =
      this.#counted === undefined &&
      completion.object === 'chat.completion' &&
      completion.created !== undefined;
    return complete ? relabelled(text, completion, this.#labels) : JSON.stringify(this.completion);
  }

  get completion(): ChatCompletion {
    const { completion } = this.#whole;
    if (this.passThrough) return completion;
    return { ...completion, ...this.#shownMembers() };
  }

  #shownMembers() {
    const { completion } = this.#whole;
    return {
      ...NO_PROVIDER,
      ...this.#labels,
      object: 'chat.completion' as const,
      created: completion.created ?? Math.floor(this.#nowMs / 1000),
      usage: this.#counted ?? withoutCost(completion.usage),
    };
  }
}

/**
 * Replaces the backend's `id` and `model` in JSON text without serialising it again. Only those of the outermost object
 * are replaced; if they are spaced, escaped or missing, the parsed object is used.
 */
function relabelled(text: string, parsed: Relabelled, labels: ShownLabels): string {
  const { usage, provider } = parsed;
  if (usage != null && namesCost(usage))
    return JSON.stringify({ ...parsed, ...NO_PROVIDER, ...labels, usage: withoutCost(usage) });
  const ours = provider === undefined ? text : without(text, `"provider":${JSON.stringify(provider)},`);
  return withLabels(ours, parsed, labels) ?? JSON.stringify({ ...parsed, ...NO_PROVIDER, ...labels });
}

interface ShownLabels {
  readonly id: string;
  readonly model: string;
}

/** `undefined` unless both members are found as they usually are written. */
function withLabels(
  text: string | undefined,
  { id, model }: Relabelled,
  labels: ShownLabels,
): string | undefined {
  if (text === undefined) return undefined;
  const idText = JSON.stringify(labels.id);
  const modelText = JSON.stringify(labels.model);
  const idAt = valueIndex(text, ID_MEMBER, id);
  const modelAt = valueIndex(text, MODEL_MEMBER, model);
  if (idAt === -1 || modelAt === -1) return undefined;
  const idEnd = idAt + (id as string).length + 2;
  const modelEnd = modelAt + (model as string).length + 2;
  return idAt < modelAt
    ? text.slice(0, idAt) + idText + text.slice(idEnd, modelAt) + modelText + text.slice(modelEnd)
    : text.slice(0, modelAt) + modelText + text.slice(modelEnd, idAt) + idText + text.slice(idEnd);
}

const ID_MEMBER = '"id":"';
const MODEL_MEMBER = '"model":"';

/** Where the string of this member of the outermost object begins, if it is written without escapes. */
function valueIndex(text: string, member: string, value: unknown): number {
  const at = typeof value === 'string' ? topLevelIndex(text, member) : -1;
  if (at === -1 || typeof value !== 'string') return -1;
  const inside = at + member.length;
  const isWhole = text.startsWith(value, inside) && text.charCodeAt(inside + value.length) === QUOTE;
  return isWhole ? inside - 1 : -1;
}

interface Relabelled {
  readonly id?: unknown;
  readonly model?: unknown;
  readonly usage?: unknown;
  readonly provider?: unknown;
}

/** OpenRouter says which company served a request; that is the operator's business. JSON leaves `undefined` out. */
const NO_PROVIDER = { provider: undefined };

/** The same answer under the name that its client asked for. */
export function withModel(json: JsonText, model: string): string {
  const { text, members } = json;
  if (members) return members.some(({ key }) => key === 'model') ? withMembers(json, { model }) : text;
  const start = topLevelIndex(text, MODEL_MEMBER);
  if (start === -1) {
    const parsed = JSON.parse(text) as { model?: unknown };
    return parsed.model === undefined ? text : JSON.stringify({ ...parsed, model });
  }
  const value = start + '"model":'.length;
  return text.slice(0, value) + JSON.stringify(model) + text.slice(endOfString(text, value) + 1);
}

/** What a request costs the operator is not shown to customers: `cost`, `cost_details`, `estimated_cost`, … */
export function withoutCost<T>(usage: T): T {
  if (!namesCost(usage)) return usage;
  // The same object with fewer members, all of which a backend may leave out.
  return Object.fromEntries(Object.entries(usage as object).filter(([key]) => !isCost(key))) as T;
}

function namesCost(usage: unknown): boolean {
  if (typeof usage !== 'object' || usage === null) return false;
  for (const key in usage) if (isCost(key)) return true;
  return false;
}

const COST_FIELD = /cost|^is_byok$|^billed|^billing/i;
/** In nearly every answer. */
const TOKEN_FIELDS: ReadonlySet<string> = new Set([
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'prompt_tokens_details',
  'completion_tokens_details',
]);

function isCost(field: string): boolean {
  return !TOKEN_FIELDS.has(field) && COST_FIELD.test(field);
}

function without(text: string, member: string): string | undefined {
  const at = topLevelIndex(text, member);
  return at === -1 ? undefined : text.slice(0, at) + text.slice(at + member.length);
}

/** The position of `member` in the outermost object; nested objects may have members of the same name. */
function topLevelIndex(text: string, member: string): number {
  let depth = 0;
  let at = 0;
  for (let found = text.indexOf(member); found !== -1; found = text.indexOf(member, found + 1)) {
    for (; at < found; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) at = endOfString(text, at);
      else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
      else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
    }
    // Otherwise it is the end of a longer key.
    if (at === found && depth === 1) return found;
  }
  return -1;
}

/**
 * The meaning of one event of a backend's stream. Its shape is checked by hand: a schema per chunk would cost more than
 * everything else.
 */
export type StreamEvent =
  | { readonly kind: 'chunk'; readonly chunk: ChatChunk }
  /** Told on the way: it is metered, and the client gets that of the end. */
  | { readonly kind: 'early_usage'; readonly usage: ChatUsage }
  | { readonly kind: 'done' }
  | { readonly kind: 'error'; readonly message: string }
  | { readonly kind: 'garbage' };

export function readStreamEvent(data: string): StreamEvent {
  if (data === '[DONE]') return { kind: 'done' };
  const parsed = parseObject(data);
  if (!parsed) return { kind: 'garbage' };
  if (parsed.error != null) return { kind: 'error', message: errorText(parsed.error) };
  if (!Array.isArray(parsed.choices) && parsed.usage == null) return { kind: 'garbage' };
  return { kind: 'chunk', chunk: parsed as unknown as ChatChunk };
}

/** A whole answer, or `undefined` when it is not one. */
export function readCompletion(parsed: unknown): ChatCompletion | undefined {
  return isObject(parsed) &&
    Array.isArray(parsed.choices) &&
    parsed.choices.length > 0 &&
    parsed.choices.every(isChoice)
    ? (parsed as unknown as ChatCompletion)
    : undefined;
}

function isChoice(choice: unknown): boolean {
  return isObject(choice) && isObject(choice.message);
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value = parseJsonAtOnce(text, EVENT_LIMITS);
    return isObject(value) ? value : undefined;
  } catch {
    // The caller decides what it means that this is no JSON, or more than an event has.
    return undefined;
  }
}

function errorText(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'message' in error) return String(error.message);
  return typeof error === 'string' ? error : 'error';
}

/**
 * All text that a model wrote in a delta or a message, which is what is charged. Backends do not always keep to the
 * types here: anything of another shape counts for nothing and never throws.
 */
export function generatedText(message: unknown): string {
  if (!isObject(message)) return '';
  return answerText(message) + thoughtText(message);
}

/** The reasoning that a model shows its reader. */
export function thoughtText(message: unknown): string {
  if (!isObject(message)) return '';
  const { content } = message;
  return (Array.isArray(content) ? content.map(partThought).join('') : '') + reasoningText(message);
}

/** Everything else that it writes. */
export function answerText(message: unknown): string {
  if (!isObject(message)) return '';
  const { content, refusal, audio, tool_calls, function_call } = message;
  let text = contentText(content);
  if (typeof refusal === 'string') text += refusal;
  if (isObject(audio)) text += stringOf(audio.transcript);
  if (Array.isArray(tool_calls)) for (const call of tool_calls) text += toolCallText(call);
  if (function_call !== undefined) text += calledText(function_call);
  return text;
}

/** Names that backends use for reasoning text. Some send the same text under two of them: it counts once. */
const REASONING_NAMES = ['reasoning_content', 'reasoning', 'reasoning_text', 'thinking'] as const;

function reasoningText(message: Record<string, unknown>): string {
  let longest = '';
  for (const name of REASONING_NAMES) {
    const text = message[name];
    if (typeof text === 'string' && text.length > longest.length) longest = text;
  }
  for (const name of ['reasoning_details', 'thinking_blocks']) {
    if (!Array.isArray(message[name])) continue;
    const text = message[name].map((part) => partText(part) + partThought(part)).join('');
    if (text.length > longest.length) longest = text;
  }
  return longest;
}

/** Text, or the text of parts: some backends write those of thinking beside them. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? content.map(partText).join('') : '';
}

function partText(part: unknown): string {
  if (!isObject(part)) return '';
  const { text, summary } = part;
  return stringOf(text) + stringOf(summary);
}

function partThought(part: unknown): string {
  if (!isObject(part)) return '';
  const { thinking } = part;
  return Array.isArray(thinking) ? thinking.map(partText).join('') : stringOf(thinking);
}

function toolCallText(call: unknown): string {
  return isObject(call) ? calledText(call.function) + calledText(call.custom) : '';
}

/** Arguments are JSON text, but some backends send the object itself. */
function calledText(called: unknown): string {
  if (!isObject(called)) return '';
  const { name, arguments: given, input } = called;
  return stringOf(name) + (isObject(given) ? JSON.stringify(given) : stringOf(given)) + stringOf(input);
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
