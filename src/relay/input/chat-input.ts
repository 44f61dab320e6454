import type { ChatRequest } from '../../wire/openai/chat.ts';
import type { MeterSource } from '../stream/meter.ts';
import type { AttachmentSizes } from './attachments.ts';
import { inputTexts } from './input-texts.ts';
import { chargedTokens, type RequestCounter } from './request-counter.ts';

export interface ChatInputParts {
  readonly request: ChatRequest;
  /** The same request in the client's dialect, if it may be sent like that. */
  readonly native?: Readonly<Record<string, unknown>> | undefined;
  readonly counter: RequestCounter;
  readonly attachments: Pick<AttachmentSizes, 'tokens'>;
  /** The most that is put around the texts. */
  readonly overhead: number;
  /** What the count cannot exceed, by the bytes of the request. */
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
  /** As a charge says it; `undefined` while it is not counted. */
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
  /** Our own count, as a charge would say it, but for attachments: of them only the most that they can take is known. */
  readonly textTokens: number;
  /** The most that the model may count. */
  readonly bound: number;
}
