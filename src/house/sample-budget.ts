import { UpstreamFailure } from '../upstream/port.ts';

export const MAX_VALUES = 1_000;
export const MAX_CHARACTERS = 100_000;
/** Keys looked at and characters of references read: what a schema can cost without adding to the sample. */
const MAX_STEPS = 200_000;

/** What one sample may still use. A few hundred bytes of schema can ask for more values than there is memory. */
export class SampleBudget {
  #values = MAX_VALUES;
  #characters = MAX_CHARACTERS;
  #steps = MAX_STEPS;

  spendValue(): void {
    if (--this.#values < 0) throw new SampleTooLarge(`more than ${counted(MAX_VALUES)} values`);
  }

  spendCharacters(count: number): void {
    this.#characters -= count;
    if (this.#characters < 0) throw new SampleTooLarge(`more than ${counted(MAX_CHARACTERS)} characters`);
  }

  spendSteps(count: number): void {
    this.#steps -= count;
    if (this.#steps < 0) throw new SampleTooLarge('too much to work through');
  }

  /** A value that the schema itself proposes; it may be proposed again for every item of a list. */
  spendCopy(value: unknown): void {
    const left: unknown[] = [value];
    while (left.length > 0) {
      const next = left.pop();
      this.spendValue();
      if (typeof next === 'string') this.spendCharacters(next.length);
      if (typeof next !== 'object' || next === null) continue;
      const entries = Object.entries(next);
      this.spendSteps(entries.length);
      for (const [key, item] of entries) {
        if (!Array.isArray(next)) this.spendCharacters(key.length);
        left.push(item);
      }
    }
  }
}

/** The client's schema is the reason, so the client is told. */
export class SampleTooLarge extends UpstreamFailure {
  constructor(what: string) {
    super('rejected', `the schema asks for ${what}`, {
      status: 400,
      publicMessage: `The schema asks for ${what}; house-echo makes samples of up to ${counted(MAX_VALUES)} values and ${counted(MAX_CHARACTERS)} characters.`,
    });
    this.name = 'SampleTooLarge';
  }
}

function counted(amount: number): string {
  return amount.toLocaleString('en-US');
}
