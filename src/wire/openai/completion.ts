import { relabeller } from './relabel.ts';
import type { ChatCompletion, ChatUsage } from './chat.ts';

/** A backend's whole answer as the client gets it, as text and as an object; each is made when it is asked for. */
export interface ShownCompletion {
  readonly text: string;
  readonly completion: ChatCompletion;
  /** `text` is the backend's own answer in the client's own dialect. */
  readonly passThrough: boolean;
}

interface Whole {
  readonly text: string;
  readonly completion: ChatCompletion;
  readonly passThrough?: boolean;
}

/**
 * Our id and the model's public name in a backend's answer, and a usage where the backend gave none. Text that needs
 * nothing else is not printed anew.
 */
export function presentCompletion(
  whole: Whole,
  labels: { readonly id: string; readonly model: string },
  counted: ChatUsage | undefined,
  nowMs: number,
): ShownCompletion {
  return new Shown(whole, labels, counted, nowMs);
}

class Shown implements ShownCompletion {
  readonly #whole: Whole;
  readonly #labels: { readonly id: string; readonly model: string };
  readonly #counted: ChatUsage | undefined;
  /** When the answer came, for one that does not say when it was made. */
  readonly #nowMs: number;

  constructor(
    whole: Whole,
    labels: { id: string; model: string },
    counted: ChatUsage | undefined,
    nowMs: number,
  ) {
    this.#nowMs = nowMs;
    this.#whole = whole;
    this.#labels = labels;
    this.#counted = counted;
  }

  get passThrough(): boolean {
    return this.#whole.passThrough ?? false;
  }

  get text(): string {
    const { text, completion } = this.#whole;
    if (this.passThrough) return text;
    const complete =
      this.#counted === undefined &&
      completion.object === 'chat.completion' &&
      completion.created !== undefined;
    return complete ? relabeller(this.#labels)(text, completion) : JSON.stringify(this.completion);
  }

  get completion(): ChatCompletion {
    const { completion } = this.#whole;
    if (this.passThrough) return completion;
    return {
      ...completion,
      ...this.#labels,
      object: 'chat.completion',
      created: completion.created ?? Math.floor(this.#nowMs / 1000),
      usage: this.#counted ?? completion.usage,
    };
  }
}
