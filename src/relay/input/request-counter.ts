import type { Model } from '../../catalog/catalog.ts';
import type { Caller } from '../../ledger/port.ts';
import {
  fewestTokens,
  chargeLimits,
  holdLimits,
  USUAL_ENCODING,
  cutTolerance,
  type CountedText,
  type CountLimits,
  type TokenCounter,
} from '../../tokenizer/port.ts';

/** A tokenizer that is not the model's own may count this much less than the model's. */
const FOREIGN_TOKENIZER_FACTOR = 1.15;

interface CounterParts {
  readonly tokens: TokenCounter;
  readonly countWaitMs: number;
}

/** Counts texts of one request, in the encoding of its model. */
export class RequestCounter {
  readonly #parts: CounterParts;
  readonly #model: Pick<Model, 'tokenizer'>;
  readonly #account: string;

  constructor(parts: CounterParts, model: Pick<Model, 'tokenizer'>, caller: Caller) {
    this.#parts = parts;
    this.#model = model;
    this.#account = caller.kind === 'token' ? caller.hash : caller.id;
  }

  /** `undefined`: not in time, and the request does not wait longer; or its client has left. */
  forHold(texts: readonly string[], client?: AbortSignal): Promise<CountedText | undefined> {
    return this.#count(texts, (characters) => holdLimits(characters, this.#parts.countWaitMs), client);
  }

  /**
   * Never too high, and without any factor. If it could not be counted at all, each word and each number is one token,
   * which is less than any tokenizer would have counted.
   */
  async forCharge(texts: readonly string[]): Promise<number> {
    const counted = await this.#count(texts, chargeLimits);
    return counted ? chargedTokens(counted) : texts.reduce((sum, text) => sum + fewestTokens(text), 0);
  }

  /** The most that the model's own tokenizer may count where ours counted this. */
  boundOf(counted: CountedText): number {
    const tokens = counted.tokens + cutTolerance(counted.cuts);
    return this.#model.tokenizer === undefined ? Math.ceil(tokens * FOREIGN_TOKENIZER_FACTOR) : tokens;
  }

  #count(texts: readonly string[], limits: (characters: number) => CountLimits, signal?: AbortSignal) {
    const encoding = this.#model.tokenizer ?? USUAL_ENCODING;
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    const account = this.#account;
    return this.#parts.tokens.count({ encoding, texts, account, signal, ...limits(characters) });
  }
}

export function chargedTokens({ tokens, cuts }: CountedText): number {
  return Math.max(0, tokens - cutTolerance(cuts));
}
