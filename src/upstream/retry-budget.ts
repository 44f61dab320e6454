/**
 * One budget of second tries for the whole process: a tenth of the requests, with a small reserve for quiet times. When
 * every backend fails, the backends see at most a tenth more than the clients send, however many endpoints there are.
 */
export class RetryBudget {
  #tokens = RESERVE;

  /** Each request earns a tenth of a retry. */
  earn(): void {
    this.#tokens = Math.min(RESERVE, this.#tokens + SHARE);
  }

  spend(): boolean {
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

const SHARE = 0.1;
const RESERVE = 20;
