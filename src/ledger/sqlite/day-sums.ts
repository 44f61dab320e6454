import { dayOf } from '../../std/calendar.ts';
import type { NanoUsd } from '../../std/money.ts';
import { isFailure } from '../decide.ts';
import type { Outcome } from '../port.ts';
import type { Usage } from '../price.ts';
import type { Statements } from './statements.ts';

/** The sums of the day that one transaction changes, gathered so that each row is written once. */
export class DaySums {
  /** By account: a batch has few models for each, and no key has to be put together to find the right one. */
  readonly #sums = new Map<string, Sum[]>();
  #day = 0;
  #dayFrom = Number.POSITIVE_INFINITY;

  /** Counts a closed request for its account and for all accounts together. */
  add(request: ClosedRequest): void {
    const day = this.#dayOf(request.createdAt);
    this.#sum(request.accountId, day, request).add(request);
    this.#sum(EVERYBODY, day, request).add(request);
  }

  write({ addUsage }: Statements): void {
    for (const sums of this.#sums.values()) for (const sum of sums) addUsage.run(...sum.values());
  }

  #sum(account: string, day: number, { endpoint, model }: ClosedRequest): Sum {
    let sums = this.#sums.get(account);
    if (!sums) this.#sums.set(account, (sums = []));
    for (const sum of sums) if (sum.isFor(day, endpoint, model)) return sum;
    const sum = new Sum([account, day, endpoint, model]);
    sums.push(sum);
    return sum;
  }

  /** Nearly all requests of a batch began on the same day. */
  #dayOf(ms: number): number {
    if (ms < this.#dayFrom || ms >= this.#dayFrom + DAY_MS) {
      this.#dayFrom = Math.floor(ms / DAY_MS) * DAY_MS;
      this.#day = dayOf(ms);
    }
    return this.#day;
  }
}

export interface ClosedRequest {
  readonly accountId: string;
  readonly endpoint: string;
  readonly model: string;
  readonly createdAt: number;
  readonly outcome: Outcome;
  readonly usage: Usage;
  readonly charged: NanoUsd;
}

/** Account, day, endpoint, model. */
type SumKey = readonly [string, number, string, string];

const DAY_MS = 86_400_000;
/** The account under which the sums of all accounts together are kept. */
const EVERYBODY = '';

class Sum {
  readonly #key: SumKey;
  #requests = 0;
  #failures = 0;
  #input = 0;
  #cached = 0;
  #output = 0;
  #reasoning = 0;
  #images = 0;
  #charged = 0;

  constructor(key: SumKey) {
    this.#key = key;
  }

  isFor(day: number, endpoint: string, model: string): boolean {
    return this.#key[1] === day && this.#key[3] === model && this.#key[2] === endpoint;
  }

  add({ outcome, usage, charged }: ClosedRequest): void {
    this.#requests++;
    if (isFailure(outcome)) this.#failures++;
    this.#input += usage.input;
    this.#cached += usage.cached;
    this.#output += usage.output;
    this.#reasoning += usage.reasoning;
    this.#images += usage.images;
    this.#charged += charged;
  }

  values(): (string | number)[] {
    const tokens = [this.#input, this.#cached, this.#output, this.#reasoning];
    return [...this.#key, this.#requests, this.#failures, ...tokens, this.#images, this.#charged];
  }
}
