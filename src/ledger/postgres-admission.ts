import type { AccountId } from '../std/ids.ts';
import { MAX_BALANCE, nanoUsd, ZERO } from '../std/money.ts';
import { HOLD_RETRY_MS, holdRange, OUTPUT_FLOOR, rateDecision, rateState } from './decide.ts';
import type { Admission, AdmissionRequest, Caller, RefusalReason } from './port.ts';
import { plainArray, textArray } from './postgres-batch.ts';
import type { Statement } from './postgres-session.ts';
import { MAX_COUNT } from './price.ts';
import { priceText, type Lease } from './sqlite-operations.ts';

/** A batch of admissions on its way to the database's `ledger_admit` and back. */
export class AdmissionBatch {
  /** In the order in which they are sent: by caller. */
  readonly #requests: AdmissionRequest[] = [];
  /** For each of them, its place in the batch as it came. */
  readonly #places: number[] = [];
  readonly #callers: Caller[] = [];
  readonly #callerOf: number[] = [];
  readonly #lastOf: number[] = [];

  constructor(requests: readonly AdmissionRequest[]) {
    const groups = new Map<string, number[]>();
    for (const [place, { caller }] of requests.entries()) {
      const key = caller.kind === 'token' ? `t${caller.hash}` : `a${caller.id}`;
      const group = groups.get(key);
      if (group) group.push(place);
      else groups.set(key, [place]);
    }
    for (const group of groups.values()) this.#addCaller(requests, group);
  }

  /** The arguments of {@link ADMIT}. */
  values(lease: Lease, offsetUs: number): unknown[] {
    const shapes = new Shapes();
    const shapeOf = this.#requests.map((request) => shapes.placeOf(request));
    const ranges = this.#requests.map(holdRange);
    return [
      lease.node,
      lease.leaseMs,
      offsetUs,
      MAX_BALANCE,
      OUTPUT_FLOOR,
      MAX_COUNT,
      textArray(this.#callers.map((caller) => (caller.kind === 'token' ? caller.hash : null))),
      textArray(this.#callers.map((caller) => (caller.kind === 'account' ? caller.id : null))),
      plainArray(this.#lastOf),
      plainArray(this.#lastOf.map((last) => shapeOf[last - 1])),
      plainArray(this.#totals(ranges.map((range) => range.full))),
      ...shapes.values(),
      textArray(this.#requests.map((request) => request.requestId)),
      plainArray(this.#callerOf),
      plainArray(shapeOf),
      plainArray(ranges.map((range) => range.full)),
      plainArray(ranges.map((range) => range.required)),
      plainArray(this.#requests.map(({ ceiling }) => (ceiling.kind === 'tokens' ? ceiling.input : 0))),
      plainArray(this.#requests.map(({ ceiling }) => (ceiling.kind === 'tokens' ? ceiling.output : 0))),
      plainArray(
        this.#requests.map(({ ceiling }) => (ceiling.kind === 'tokens' ? ceiling.choices : ceiling.images)),
      ),
    ];
  }

  /** What the database decided, in the order in which the requests came. */
  admissions({ accounts, results }: AdmitRow): Admission[] {
    const numbers = results.slice(1, -1).split(',').map(Number);
    const admissions: Admission[] = [];
    for (const [sent, request] of this.#requests.entries()) {
      const account = accounts[(this.#callerOf[sent] ?? 0) - 1] ?? '';
      const [place, at] = [this.#places[sent] ?? 0, sent * NUMBERS_PER_RESULT];
      admissions[place] = admissionOf(request, account, numbers.slice(at, at + NUMBERS_PER_RESULT));
    }
    return admissions;
  }

  #addCaller(requests: readonly AdmissionRequest[], places: readonly number[]): void {
    for (const place of places) {
      const request = requests[place];
      if (!request) continue;
      if (place === places[0]) this.#callers.push(request.caller);
      this.#requests.push(request);
      this.#places.push(place);
      this.#callerOf.push(this.#callers.length);
    }
    this.#lastOf.push(this.#requests.length);
  }

  /** What each caller asks for in all. Only a hint, so it may be rounded where it is beyond any balance. */
  #totals(holds: readonly number[]): number[] {
    const totals = this.#callers.map(() => 0);
    for (const [sent, hold] of holds.entries()) {
      const caller = (this.#callerOf[sent] ?? 1) - 1;
      totals[caller] = Math.min((totals[caller] ?? 0) + hold, Number.MAX_SAFE_INTEGER);
    }
    return totals;
  }
}

export interface AdmitRow {
  readonly accounts: readonly (string | null)[];
  readonly results: string;
}

const NUMBERS_PER_RESULT = 6;
const PARAMETERS = 30;

export const ADMIT: Statement = {
  name: 'ledger_admit',
  text: `SELECT accounts, results::text FROM ledger_admit(${Array.from({ length: PARAMETERS }, (_, n) => `$${n + 1}`).join(', ')})`,
};

/** What requests have in common is sent once: most of a batch is the same few models, clients and limits. */
class Shapes {
  readonly #places = new Map<string, number>();
  readonly #shapes: AdmissionRequest[] = [];

  /** Counted from one, as the database does. */
  placeOf(request: AdmissionRequest): number {
    const { rate, endpoint, model, price, stream, client, limits, ceiling } = request;
    const numbers = `${limits.chatPerMinute} ${limits.imagesPerMinute} ${limits.concurrent}`;
    const key = `${rate} ${ceiling.kind} ${stream} ${numbers} ${priceText(price)}\0${endpoint}\0${model}\0${client}`;
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    this.#shapes.push(request);
    this.#places.set(key, this.#shapes.length);
    return this.#shapes.length;
  }

  values(): unknown[] {
    const shapes = this.#shapes;
    return [
      plainArray(shapes.map(({ rate }) => rate === 'images')),
      plainArray(shapes.map(({ ceiling }) => ceiling.kind === 'tokens')),
      textArray(shapes.map(({ endpoint }) => endpoint)),
      textArray(shapes.map(({ model }) => model)),
      textArray(shapes.map(({ price }) => priceText(price))),
      plainArray(shapes.map(tokenPrice).map(({ input, cachedInput }) => Math.max(input, cachedInput))),
      plainArray(shapes.map(tokenPrice).map(({ output }) => output)),
      plainArray(
        shapes.map(({ rate, limits }) => (rate === 'chat' ? limits.chatPerMinute : limits.imagesPerMinute)),
      ),
      plainArray(shapes.map(({ limits }) => limits.concurrent)),
      plainArray(shapes.map(({ stream }) => (stream ? 1 : 0))),
      textArray(shapes.map(({ client }) => client)),
    ];
  }
}

const NO_TOKEN_PRICE = { input: 0, cachedInput: 0, output: 0 };

function tokenPrice({ price }: AdmissionRequest) {
  return price.kind === 'tokens' ? price : NO_TOKEN_PRICE;
}

/** By the numbers that `ledger_admit` gives them. */
const REASONS: readonly RefusalReason[] = [
  'invalid_token',
  'rate_limit_exceeded',
  'concurrency_limit_exceeded',
  'insufficient_balance',
  'limit_reached',
  'funds_on_hold',
  'request_exceeds_balance',
];

function admissionOf(request: AdmissionRequest, account: string, numbers: readonly number[]): Admission {
  const [verdict = 1, held = 0, output = 0, available = 0, limit = 1, backlogUs = 0] = numbers;
  if (verdict === 1) return NOBODY;
  const rate = rateState(limit, backlogUs, 0);
  // The database names accounts by their ids.
  if (verdict === 0) {
    return {
      kind: 'admitted',
      accountId: account as AccountId,
      held: nanoUsd(held),
      output,
      rate,
      available: nanoUsd(available),
    };
  }
  const reason = REASONS[verdict - 1] ?? 'invalid_token';
  const retryAfterMs = retryAfter(reason, limit, backlogUs);
  return {
    kind: 'refused',
    reason,
    retryAfterMs,
    available: nanoUsd(available),
    required: holdRange(request).required,
    rate,
  };
}

/** A disabled account is told no more than a stranger. */
const NOBODY: Admission = {
  kind: 'refused',
  reason: 'invalid_token',
  retryAfterMs: undefined,
  available: ZERO,
  required: ZERO,
  rate: undefined,
};

function retryAfter(reason: RefusalReason, perMinute: number, backlogUs: number): number | undefined {
  if (reason === 'concurrency_limit_exceeded' || reason === 'funds_on_hold') return HOLD_RETRY_MS;
  if (reason !== 'rate_limit_exceeded') return undefined;
  return Math.ceil(rateDecision({ arrivalUs: backlogUs, perMinute }, 0).waitUs / 1000);
}
