import type { ChatRequest } from '../../wire/openai/chat.ts';
import type { MeterSource } from '../stream/meter.ts';
import type { AttachmentSizes } from './attachments.ts';
import { chargedTokens, type RequestCounter } from './request-counter.ts';

interface ChatInputParts {
  readonly request: ChatRequest;
  /** The same request in the client's dialect, if it may be sent like that. */
  readonly native?: Readonly<Record<string, unknown>> | undefined;
  readonly counter: RequestCounter;
  readonly attachments: Pick<AttachmentSizes, 'tokens'>;
  /** The most that is put around the texts. */
  readonly overhead: number;
  /** The upper bound of the count, by the bytes of the request. */
  readonly bound: number;
}

/**
 * OpenAI's published rule (cookbook, "How to count tokens with tiktoken"): three tokens and the role around each
 * message, and three with which the answer begins.
 */
const TOKENS_PER_MESSAGE = 4;
const TOKENS_BEFORE_ANSWER = 3;

/** The input tokens of one chat, counted on demand and once. */
export class ChatInput implements MeterSource {
  readonly #parts: ChatInputParts;
  #texts: readonly string[] | undefined;
  /** The count as it is charged; `undefined` until it is known. */
  #counted: number | undefined;
  #counting: Promise<number> | undefined;

  constructor(parts: ChatInputParts) {
    this.#parts = parts;
  }

  /** A tighter bound for the hold; `undefined` if it was not counted in time, or its client has left. */
  async countForHold(client?: AbortSignal): Promise<InputCount | undefined> {
    const { counter, attachments, overhead, bound } = this.#parts;
    const counted = await counter.forHold(this.#inputTexts(), client);
    if (!counted) return undefined;
    this.#counted ??= this.#charged(chargedTokens(counted));
    const most = counter.boundOf(counted) + overhead + attachments.tokens;
    return { textTokens: this.#counted - attachments.tokens, bound: Math.min(most, bound) };
  }

  async chargedInput(): Promise<number> {
    return this.#counted ?? (await (this.#counting ??= this.#countForCharge()));
  }

  knownInput(): number {
    // A count that fails is asked for again when the charge needs it, and fails there.
    if (this.#counted === undefined) this.chargedInput().catch(() => undefined);
    return this.#counted ?? 0;
  }

  countOutput(texts: readonly string[]): Promise<number> {
    return this.#parts.counter.forCharge(texts);
  }

  async #countForCharge(): Promise<number> {
    const text = await this.#parts.counter.forCharge(this.#inputTexts());
    return (this.#counted ??= this.#charged(text));
  }

  #charged(text: number): number {
    const { request, attachments } = this.#parts;
    const around = TOKENS_PER_MESSAGE * request.messages.length + TOKENS_BEFORE_ANSWER;
    return text + around + attachments.tokens;
  }

  #inputTexts(): readonly string[] {
    const { request, native } = this.#parts;
    // The native form has everything that the canonical one has, and what that one cannot express.
    return (this.#texts ??= inputTexts(native ? { messages: [], ...native } : request));
  }
}

export interface InputCount {
  /** Our own count as it would be charged, but with the maximum for attachments: nothing else is known of them. */
  readonly textTokens: number;
  /** The most that the model may count. */
  readonly bound: number;
}

/**
 * All text of a request that a model may read: every string of its messages besides names and attachments, and the
 * definitions of its tools and of the answer's format. Backends do not keep to the documented fields, so neither does
 * this: text in a field that nobody knows is counted too.
 */
function inputTexts(request: Pick<ChatRequest, 'messages'> & Record<string, unknown>): string[] {
  const texts: string[] = [];
  collect(request.messages, '', texts);
  collect(request['system'], '', texts);
  for (const definition of [request['tools'], request['functions'], request['response_format']])
    if (definition !== undefined) texts.push(JSON.stringify(definition));
  return texts;
}

function collect(value: unknown, key: string, texts: string[]): void {
  if (typeof value === 'string') {
    if (!isName(key, value)) texts.push(value);
  } else if (Array.isArray(value)) {
    for (const item of value) collect(item, key, texts);
  } else if (typeof value === 'object' && value !== null && !isAttachment(key, value)) {
    for (const [name, member] of Object.entries(value)) collect(member, name, texts);
  }
}

/** Names are not shown to the model, or take a token or two that belong to the message. */
const NAMES: ReadonlySet<string> = new Set([
  'role',
  'type',
  'id',
  'tool_call_id',
  'tool_use_id',
  'signature',
]);
/** A longer one is text, whatever its name. */
const MAX_NAME_LENGTH = 64;

function isName(key: string, text: string): boolean {
  return NAMES.has(key) && (text.length <= MAX_NAME_LENGTH || key === 'signature');
}

const ATTACHMENT_PARTS: ReadonlySet<unknown> = new Set(['image_url', 'input_audio', 'file']);
const ATTACHMENT_SOURCES: ReadonlySet<unknown> = new Set(['base64', 'url', 'file']);

/** Measured apart: in the chat dialect a part of a message, in Anthropic's the source of a block. */
function isAttachment(key: string, value: object): boolean {
  const type = 'type' in value ? value.type : undefined;
  return key === 'source' ? ATTACHMENT_SOURCES.has(type) : ATTACHMENT_PARTS.has(type);
}
