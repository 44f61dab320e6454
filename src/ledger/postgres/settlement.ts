import { cacheSaving } from '../cache-saving.ts';
import { Fault } from '../../std/fault.ts';
import { requestTime, type RequestId } from '../../std/ids.ts';
import { MAX_BALANCE, nanoUsd } from '../../std/money.ts';
import {
  OUTCOME_CODES,
  PROMPT_MS,
  RECEIPT_STATES,
  SOURCE_CODES,
  STATE_CODES,
} from '../../store/receipt-codes.ts';
import { detailText, isFailure, OVERRUN_ACCOUNT, OVERRUN_CEILING, requestCost, storedMs } from '../decide.ts';
import type { Ending, HoldState, Settled, Settlement, UsageSource } from '../port.ts';
import {
  checkedUsage,
  costOf,
  extraUsageText,
  NO_USAGE,
  priceFromText,
  type Usage,
  type Price,
} from '../price.ts';
import { Columns, numbersIn, plain, textArray, texts, textsIn } from './batch.ts';
import type { IssuedHold, IssuedHolds } from './issued-holds.ts';
import type { Numbers } from './numbers.ts';
import type { BoundStatement, LedgerPool, Statement } from './pool.ts';
import { CLOSE_RESULTS, LEDGER_CLOSE, LEDGER_CLOSE_ONE, LEDGER_EXPIRE } from './settlement-sql.ts';

/** How a hold is to end. */
export interface CloseRequest {
  readonly requestId: RequestId;
  readonly state: 'posted' | 'void';
  readonly usage: Usage;
  readonly source: UsageSource | undefined;
  readonly ending: Ending;
}

export function settlementOf(requestId: RequestId, settlement: Settlement): CloseRequest {
  const { usage, source } = settlement;
  return { requestId, state: 'posted', usage: checkedUsage(usage), source, ending: settlement };
}

export function voidOf(requestId: RequestId, ending: Ending): CloseRequest {
  return { requestId, state: 'void', usage: NO_USAGE, source: undefined, ending };
}

/** A request as the database left it. */
export interface ClosedRow {
  readonly id: string;
  readonly state: HoldState;
  readonly charged: number;
  readonly held: number;
  readonly overrun: number;
  readonly available: number;
  /** What this call found used beyond the hold, before it was booked, and of which model. */
  readonly excess: number;
  readonly model: string;
}

/** They commit before they end; a caller that gets a failure after that finds the holds closed when it tries again. */
const CLOSE = closeBy(LEDGER_CLOSE.name, 29);
const CLOSE_ONE = closeBy(LEDGER_CLOSE_ONE.name, 26);

function closeBy(name: string, parameters: number): Statement {
  const places = [
    ...Array.from({ length: parameters }, (_, n) => `$${n + 1}`),
    ...Array.from({ length: CLOSE_RESULTS }, () => 'NULL'),
  ];
  return { name, text: `CALL ${name}(${places.join(', ')})` };
}

export const EXPIRE: Statement = {
  name: LEDGER_EXPIRE.name,
  text: `SELECT * FROM ${LEDGER_EXPIRE.name}($1, $2, $3, $4, $5, $6)`,
};

/** The answer of both: arrays as text; see `ledger_close_holds`. */
export interface ClosedAnswer {
  readonly places: string | null;
  readonly held: string | null;
  readonly costs: string | null;
  readonly overruns: string | null;
  readonly available: string | null;
  readonly models: string | null;
  readonly earlier: string | null;
  readonly earlier_states: string | null;
  readonly earlier_charged: string | null;
  readonly earlier_held: string | null;
  readonly earlier_overruns: string | null;
  readonly earlier_available: string | null;
}

/**
 * Requests that this call closed in `state`, and those that were closed before. An id without a row never was a
 * request.
 */
export function closedRows(
  answer: ClosedAnswer | undefined,
  ids: readonly string[],
  state: (place: number) => HoldState,
): ClosedRow[] {
  return answer ? [...closedNow(answer, ids, state), ...closedEarlier(answer, ids)] : [];
}

function closedNow(
  answer: ClosedAnswer,
  ids: readonly string[],
  state: (place: number) => HoldState,
): ClosedRow[] {
  const held = numbersIn(answer.held);
  const costs = numbersIn(answer.costs);
  const overruns = numbersIn(answer.overruns);
  const available = numbersIn(answer.available);
  const models = textsIn(answer.models);
  return numbersIn(answer.places).map((place, n) => {
    const [cost = 0, holds = 0] = [costs[n], held[n]];
    return {
      id: ids[place - 1] ?? '',
      state: state(place - 1),
      charged: Math.min(cost, holds),
      held: holds,
      overrun: overruns[n] ?? 0,
      available: available[n] ?? 0,
      excess: Math.max(0, cost - holds),
      model: models[n] ?? '',
    };
  });
}

function closedEarlier(answer: ClosedAnswer, ids: readonly string[]): ClosedRow[] {
  const states = numbersIn(answer.earlier_states);
  const charged = numbersIn(answer.earlier_charged);
  const held = numbersIn(answer.earlier_held);
  const overruns = numbersIn(answer.earlier_overruns);
  const available = numbersIn(answer.earlier_available);
  return numbersIn(answer.earlier).map((place, n) => ({
    id: ids[place - 1] ?? '',
    state: RECEIPT_STATES[(states[n] ?? 0) - 1] ?? 'void',
    charged: charged[n] ?? 0,
    held: held[n] ?? 0,
    overrun: overruns[n] ?? 0,
    available: available[n] ?? 0,
    excess: 0,
    model: '',
  }));
}

export interface ExpiredAnswer extends ClosedAnswer {
  /** Separated by commas. */
  readonly ids: string | null;
}

export function expiredRows(answer: ExpiredAnswer | undefined): ClosedRow[] {
  return closedRows(answer, answer?.ids?.split(',') ?? [], () => 'expired');
}

/**
 * If several items of a batch close one hold, only the first is sent, and the others get its result. In the order of
 * their ids, in which the database locks them.
 */
export function firstOfEach(closes: readonly CloseRequest[]): CloseRequest[] {
  const byId = new Map(closes.toReversed().map((closing) => [closing.requestId, closing]));
  return [...byId.values()].sort((one, other) => (one.requestId < other.requestId ? -1 : 1));
}

/** Whether a hold is known to cover what its request costs. */
export function isWithin({ state, usage }: CloseRequest, hold: IssuedHold | undefined): boolean {
  if (state === 'void') return true;
  return hold !== undefined && costOf(hold.request.price, usage) <= hold.admission.held;
}

/** What the node knows about the requests that it closes. */
export interface KnownCosts {
  /** Every hold is known to cover its cost. */
  readonly within: boolean;
  /** The charges of requests whose price or usage is not ordinary, by their index. */
  readonly owed: readonly (number | undefined)[];
  /** How much their cached input has saved. */
  readonly saved: readonly (number | undefined)[];
}

/** The database function that closes these requests, with its arguments. */
export function closeCall(
  closes: readonly CloseRequest[],
  known: KnownCosts,
  { numbers, offsetUs }: { readonly numbers: Numbers; readonly offsetUs: number },
): BoundStatement {
  const items = closes.map((closing, n) => closingItem(closing, n, known, numbers));
  const lost = items.flatMap(({ cost }, index) => cost.lost.map((one) => ({ ...one, place: index + 1 })));
  const rules = [...moneyRules(offsetUs), known.within];
  const [first] = items;
  return first && items.length === 1 && known.within && lost.length === 0
    ? { statement: CLOSE_ONE, values: [...rules, ...CLOSING.plain(first)] }
    : { statement: CLOSE, values: [...rules, ...CLOSING.arrays(items), ...LOST.arrays(lost)] };
}

function closingItem(closing: CloseRequest, n: number, { owed, saved }: KnownCosts, numbers: Numbers) {
  const { ending } = closing;
  const backend = ending.upstream === undefined ? null : numbers.backend(ending.upstream);
  return { ...closing, backend, owed: owed[n], saved: saved[n], cost: requestCost(ending) };
}

const CLOSING = new Columns<ReturnType<typeof closingItem>>(
  texts(({ requestId }) => requestId),
  plain(({ requestId }) => requestTime(requestId)),
  plain(({ state }) => STATE_CODES[state]),
  plain(({ ending }) => isFailure(ending.outcome)),
  plain(({ usage }) => usage.input),
  plain(({ usage }) => usage.cached),
  plain(({ usage }) => usage.output),
  plain(({ usage }) => usage.reasoning),
  plain(({ usage }) => usage.images),
  plain(({ source }) => source && SOURCE_CODES[source]),
  plain(({ ending }) => OUTCOME_CODES[ending.outcome]),
  plain(({ backend }) => backend),
  plain(({ ending: { firstByteMs } }) => (firstByteMs === undefined ? null : storedMs(firstByteMs))),
  plain(({ ending }) => storedMs(ending.durationMs)),
  texts(({ ending }) => detailText(ending)),
  texts(({ usage }) => extraUsageText(usage)),
  plain(({ owed }) => owed),
  plain(({ saved }) => saved),
  plain(({ cost }) => cost.spent),
  plain(({ cost }) => cost.possible),
);

const LOST = new Columns<ReturnType<typeof requestCost>['lost'][number] & { readonly place: number }>(
  plain(({ place }) => place),
  texts(({ upstream }) => upstream),
  plain(({ amount }) => amount),
);

export function expireValues(most: number, offsetUs: number): unknown[] {
  return [...moneyRules(offsetUs), most];
}

/** The first arguments of both functions. */
function moneyRules(offsetUs: number): unknown[] {
  return [offsetUs, MAX_BALANCE, OVERRUN_ACCOUNT, OVERRUN_CEILING, PROMPT_MS];
}

export function settledOf(row: ClosedRow | undefined, requestId: RequestId): Settled | Fault {
  if (!row) {
    return new Fault('internal_error', 'Something went wrong on our side. Try again later.', {
      detail: `no hold ${requestId}`,
    });
  }
  return {
    state: row.state,
    charged: nanoUsd(row.charged),
    held: nanoUsd(row.held),
    overrun: nanoUsd(row.overrun),
    available: nanoUsd(row.available),
  };
}

interface UsedRequest {
  readonly requestId: RequestId;
  readonly usage: Usage;
}

interface ExtraCost {
  /** Price × usage. */
  readonly owed: number;
  /** What cached input has saved. */
  readonly saved: number;
}

/**
 * What each request costs, where SQL cannot compute it: a price or usage with an `extra`. The prices of holds that this
 * node made are known; others are asked for.
 */
export async function owedFor(
  requests: readonly UsedRequest[],
  issued: IssuedHolds,
  pool: LedgerPool,
): Promise<(ExtraCost | undefined)[]> {
  const prices = requests.map(({ requestId }) => issued.get(requestId)?.request.price);
  if (prices.every((price) => price !== undefined))
    return requests.map((one, n) => extraCost(one, prices[n]));
  const unknown = requests.flatMap(({ requestId }, n) => (prices[n] === undefined ? [requestId] : []));
  const rows = await pool.call<PriceRow>(PRICES, [textArray(unknown)]);
  const found = new Map(rows.map(({ id, value }) => [id, value]));
  return requests.map((one, n) => extraCost(one, prices[n] ?? parsed(found.get(one.requestId))));
}

/** A request that has no hold any more is not charged, so it needs no price. */
function extraCost({ usage }: UsedRequest, price: Price | undefined): ExtraCost | undefined {
  if (!price || (price.extra === undefined && usage.extra === undefined)) return undefined;
  return { owed: costOf(price, usage), saved: cacheSaving(price, usage) };
}

function parsed(value: string | undefined): Price | undefined {
  return value === undefined ? undefined : priceFromText(value);
}

interface PriceRow {
  readonly id: string;
  readonly value: string;
}

const PRICES: Statement = {
  name: 'ledger_hold_prices',
  text: 'SELECT h.id, p.value FROM hold h JOIN price p ON p.id = h.price WHERE h.id = ANY ($1::text[])',
};
