import { NO_USAGE, type Usage } from '../../ledger/price.ts';
import type { NanoUsd } from '../../std/money.ts';
import { cutBefore } from '../../tokenizer/slices.ts';
import { fewestTokens } from '../../tokenizer/port.ts';
import type { ChatChunk, ChatCompletion, ChatUsage } from '../../wire/openai/chat.ts';
import { answerText, thoughtText } from '../../wire/openai/answer.ts';
import type { TextMeter } from './chunk-template.ts';
import {
  mediaIn,
  mediaTokens,
  NO_MEDIA,
  readUsage,
  reportedCost,
  tierOf,
  type MeteredUsage,
  type ShownMedia,
} from './reported-usage.ts';

/** Counts for a meter. No count is ever too high. */
export interface MeterSource {
  /** The input tokens of the request. */
  chargedInput(): Promise<number>;
  /** The input tokens that are known so far. */
  knownInput(): number;
  countOutput(texts: readonly string[]): Promise<number>;
}

/**
 * Text is kept up to this size, in case the backend reports no usage: an ordinary answer is counted only then. Of a
 * longer one the first part is counted and dropped. The parts depend only on the text, and so does the count: not on
 * the chunks, nor on when it was asked for.
 */
const BLOCK_CHARACTERS = 32_768;
/** A text that grows by a word at a time takes many times its size until it is made one string. */
const JOINED_CHARACTERS = 2_048;
/** Longer than any finish reason in use. */
const MAX_REASON_LENGTH = 64;
const FIRST_RAW_BYTES = 128;
const MAX_RAW_BYTES = 2_048;

/**
 * Observes the answer of a backend that accepted the request: the usage that the backend reports, and what it shows on its
 * way, in case it reports none. Text is counted only on demand or when a block is full.
 */
export class Meter implements TextMeter {
  /** Whether anything came after the last reported usage. */
  #hasNews = false;
  #hasOutput = false;
  readonly #source: MeterSource;
  #answer: TextTally | undefined;
  /** The visible reasoning of the model; most models show none. */
  #thought: TextTally | undefined;
  #media: ShownMedia | undefined;
  #serviceTier: string | undefined;
  #reported: Usage | undefined;
  /** The cost that the provider reports. */
  #cost: NanoUsd | undefined;
  finishReason: string | undefined;

  constructor(source: MeterSource) {
    this.#source = source;
  }

  observe(chunk: ChatChunk): void {
    for (const choice of chunk.choices ?? []) {
      this.#noteFinish(choice?.finish_reason);
      this.#noteDelta(choice?.delta);
    }
    if (chunk.service_tier != null) this.#serviceTier = tierOf(chunk.service_tier);
    if (chunk.usage != null) this.#noteUsage(chunk.usage, chunk.service_tier);
  }

  observeUsage(usage: ChatUsage): void {
    this.#noteUsage(usage, undefined);
  }

  /** The inside of a JSON string. Most are never decoded, because the backend reports its usage. */
  observeRaw(bytes: Uint8Array, from: number, to: number, isThought: boolean): void {
    if (from === to) return;
    this.#hasNews = true;
    (isThought ? this.#thoughts() : this.#answers()).addRaw(bytes, from, to);
  }

  observeWhole(completion: ChatCompletion): MeteredUsage | Promise<MeteredUsage> {
    for (const choice of completion.choices) {
      // Counted only if the backend reported no usage, so not block by block.
      const answer = answerText(choice.message);
      const thought = thoughtText(choice.message);
      if (answer !== '') this.#answers().keep(answer);
      if (thought !== '') this.#thoughts().keep(thought);
      this.#hasNews ||= answer !== '' || thought !== '';
      this.#noteMedia(choice.message);
    }
    this.finishReason = finishReasonOf(completion);
    this.#noteUsage(completion.usage, completion.service_tier);
    return this.measure();
  }

  /**
   * Reported usage counts, whichever side ended the answer. A number that cannot be true is replaced by our own count:
   * no input, or an output that was reported before the last text or is zero although there is text.
   */
  measure(): MeteredUsage | Promise<MeteredUsage> {
    const reported = this.#reported;
    if (reported && this.#isOutputTrue(reported) && reported.input > 0)
      return { usage: reported, source: 'upstream', cost: this.#cost };
    return this.#measureCounted(reported);
  }

  get hasReportedInput(): boolean {
    return this.#reported !== undefined && this.#reported.input > 0;
  }

  /** Counted unless the backend has reported it. */
  async countInput(): Promise<void> {
    if (!this.hasReportedInput) await this.#source.chargedInput();
  }

  /** The usage so far, as far as it is known without counting. */
  delivered(): Usage {
    const reported = this.#reported ?? NO_USAGE;
    const input = reported.input > 0 ? reported.input : this.#source.knownInput();
    if (this.#reported && this.#isOutputTrue(reported)) return { ...reported, input };
    return this.#withShown({ ...reported, input }, this.#answer?.fewest() ?? 0, this.#thought?.fewest() ?? 0);
  }

  async #measureCounted(reported: Usage | undefined): Promise<MeteredUsage> {
    const hasInput = reported !== undefined && reported.input > 0;
    const isOutputTrue = reported !== undefined && this.#isOutputTrue(reported);
    const [input, answer, thought] = await Promise.all([
      hasInput ? reported.input : this.#source.chargedInput(),
      isOutputTrue ? 0 : this.#answer?.count(),
      isOutputTrue ? 0 : this.#thought?.count(),
    ]);
    const known = { ...(reported ?? NO_USAGE), input };
    return {
      usage: isOutputTrue ? known : this.#withShown(known, answer ?? 0, thought ?? 0),
      source: reported ? 'mixed' : 'counted',
      ...(reported && { cost: this.#cost }),
    };
  }

  /** What was seen counts wherever the earlier report has less of it. */
  #withShown(known: Usage, answer: number, thought: number): Usage {
    const media = this.#media && mediaTokens(this.#media);
    const tier = known.extra?.serviceTier ?? this.#serviceTier;
    const shown = answer + thought + (media ? media.audioOutput + media.imageOutput : 0);
    const extra = {
      ...known.extra,
      ...(media &&
        media.audioOutput > 0 && { audioOutput: atLeast(media.audioOutput, known.extra?.audioOutput) }),
      ...(media &&
        media.imageOutput > 0 && { imageOutput: atLeast(media.imageOutput, known.extra?.imageOutput) }),
      ...(tier !== undefined && { serviceTier: tier }),
    };
    return {
      ...known,
      output: Math.max(known.output, shown),
      reasoning: Math.max(known.reasoning, thought),
      ...(Object.keys(extra).length > 0 && { extra }),
    };
  }

  #isOutputTrue(reported: Usage): boolean {
    return !this.#hasNews && (reported.output > 0 || !this.#hasOutput);
  }

  #answers(): TextTally {
    return (this.#answer ??= new TextTally(this.#source));
  }

  #thoughts(): TextTally {
    return (this.#thought ??= new TextTally(this.#source));
  }

  #noteDelta(delta: unknown): void {
    const answer = answerText(delta);
    const thought = thoughtText(delta);
    if (answer !== '') this.#answers().add(answer);
    if (thought !== '') this.#thoughts().add(thought);
    this.#hasNews ||= answer !== '' || thought !== '';
    this.#noteMedia(delta);
  }

  #noteMedia(message: unknown): void {
    const shown = mediaIn(message);
    if (!shown) return;
    this.#hasNews = true;
    const { soundBytes, pictures } = this.#media ?? NO_MEDIA;
    this.#media = { soundBytes: soundBytes + shown.soundBytes, pictures: pictures + shown.pictures };
  }

  #noteFinish(reason: unknown): void {
    this.finishReason = readFinish(reason) ?? this.finishReason;
  }

  #noteUsage(raw: unknown, serviceTier: unknown): void {
    this.#cost = reportedCost(raw) ?? this.#cost;
    const usage = readUsage(raw, serviceTier);
    if (!usage) return;
    this.#reported = usage;
    this.#hasOutput ||= this.#hasNews;
    this.#hasNews = false;
  }
}

function atLeast(shown: number, reported = 0): number {
  return Math.max(shown, reported);
}

/** What the backend itself has counted of a whole answer, as most do: then nothing has to be observed. */
export function reportedWhole({ usage: raw, service_tier }: ChatCompletion): MeteredUsage | undefined {
  const usage = readUsage(raw, service_tier);
  if (!usage || usage.input === 0 || usage.output === 0) return undefined;
  return { usage, source: 'upstream', cost: reportedCost(raw) };
}

/** The last choice's that has one. */
export function finishReasonOf({ choices }: ChatCompletion): string | undefined {
  let reason: string | undefined;
  for (const { finish_reason } of choices) reason = readFinish(finish_reason) ?? reason;
  return reason;
}

function readFinish(reason: unknown): string | undefined {
  return typeof reason === 'string' && reason !== '' ? reason.slice(0, MAX_REASON_LENGTH) : undefined;
}

/** Text that may have to be counted. The parts in which it is counted depend on it alone. */
class TextTally {
  readonly #source: MeterSource;
  /** What came after `#text`, as raw JSON. */
  #raw: Uint8Array | undefined;
  #rawLength = 0;
  #text = '';
  /** How much of `#text` is one string in memory. */
  #joined = 0;
  /** The tokens of dropped blocks: those counted already, and the counts under way. */
  #counted = 0;
  #counting: Promise<void>[] = [];
  /** The fewest tokens that `#text` can have; unknown while it grows. */
  #fewest: number | undefined;

  constructor(source: MeterSource) {
    this.#source = source;
  }

  /** Keeps the text of a whole answer, which is counted at its end or not at all. */
  keep(text: string): void {
    this.#text += text;
    this.#fewest = undefined;
  }

  add(text: string): void {
    this.#decodeRaw();
    this.#append(text);
  }

  addRaw(bytes: Uint8Array, from: number, to: number): void {
    const length = this.#rawLength + to - from;
    const raw = length <= (this.#raw?.length ?? 0) ? this.#raw : this.#rawBufferFor(length);
    if (!raw) return this.add(decodeJsonText(bytes.slice(from, to)));
    for (let at = from; at < to; at++) raw[this.#rawLength++] = bytes[at] ?? 0;
  }

  /** The fewest tokens that it can have. */
  fewest(): number {
    this.#decodeRaw();
    return this.#counted + (this.#fewest ??= fewestTokens(this.#text));
  }

  async count(): Promise<number> {
    this.#decodeRaw();
    const text = this.#text;
    const [last] = await Promise.all([text === '' ? 0 : this.#source.countOutput([text]), ...this.#counting]);
    return this.#counted + last;
  }

  #append(text: string): void {
    this.#text += text;
    this.#fewest = undefined;
    if (this.#text.length - this.#joined >= JOINED_CHARACTERS) {
      // Reading a character joins the string.
      this.#text.charCodeAt(0);
      this.#joined = this.#text.length;
    }
    while (this.#text.length > BLOCK_CHARACTERS) {
      const { at } = cutBefore(this.#text, 0, BLOCK_CHARACTERS);
      this.#countBlock(this.#text.slice(0, at));
      this.#text = this.#text.slice(at);
      this.#joined = 0;
    }
  }

  #countBlock(block: string): void {
    const counting = this.#source.countOutput([block]).then((tokens) => void (this.#counted += tokens));
    this.#counting.push(counting);
  }

  #decodeRaw(): void {
    if (!this.#raw || this.#rawLength === 0) return;
    const raw = this.#raw.subarray(0, this.#rawLength);
    this.#rawLength = 0;
    this.#append(decodeJsonText(raw));
  }

  /** `undefined` if that is more than is kept; what was kept has been decoded then. */
  #rawBufferFor(length: number): Uint8Array | undefined {
    if (length > MAX_RAW_BYTES) {
      this.#decodeRaw();
      return undefined;
    }
    const larger = new Uint8Array(Math.max(FIRST_RAW_BYTES, 2 ** Math.ceil(Math.log2(length))));
    if (this.#raw) larger.set(this.#raw.subarray(0, this.#rawLength));
    return (this.#raw = larger);
  }
}

/** A byte order mark at the start of a text is part of it. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

function decodeJsonText(raw: Uint8Array): string {
  const text = decoder.decode(raw);
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}
