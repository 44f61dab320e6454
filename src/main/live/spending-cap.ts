import { addNano, minNano, subtractNano, ZERO, type NanoUsd } from '../../std/money.ts';

/**
 * Money that may be spent and no more: the worst case of a call is held before it is made, and what it used is spent
 * afterwards. What is spent and held together never exceeds the cap.
 */
export class SpendingCap {
  readonly #most: NanoUsd;
  #spent: NanoUsd = ZERO;

  constructor(most: NanoUsd) {
    this.#most = most;
  }

  get spent(): NanoUsd {
    return this.#spent;
  }

  get left(): NanoUsd {
    return subtractNano(this.#most, this.#spent);
  }

  /** `undefined`: it could cost more than is left. One hold at a time: calls are made one after the other. */
  hold(worst: NanoUsd): SpendingHold | undefined {
    if (worst > this.left) return undefined;
    this.#spent = addNano(this.#spent, worst);
    return {
      worst,
      settle: (used) => {
        this.#spent = addNano(subtractNano(this.#spent, worst), minNano(used, worst));
      },
    };
  }
}

export interface SpendingHold {
  readonly worst: NanoUsd;
  /** Without it the whole hold counts as spent. Once. */
  settle(used: NanoUsd): void;
}
