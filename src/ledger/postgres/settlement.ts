import { Fault } from '../../std/fault.ts';
import type { RequestId } from '../../std/ids.ts';
import { MAX_BALANCE, nanoUsd } from '../../std/money.ts';
import type { Ending, HoldState, Settled, Settlement, UsageSource } from '../port.ts';
import { plainArray, textArray } from './batch.ts';
import type { Statement } from './pool.ts';
import { LEDGER_CLOSE, LEDGER_EXPIRE } from './settlement-sql.ts';
import { MAX_COST, NO_USAGE, type Usage } from '../price.ts';
import { checkedUsage, isFailure, OVERRUN_ACCOUNT, OVERRUN_CEILING } from '../decide.ts';

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

/** A hold as the database left it. */
export interface ClosedRow {
  readonly id: string;
  readonly state: HoldState;
  readonly charged: number;
  readonly held: number;
  readonly overrun: number;
  readonly available: number;
  readonly model: string;
  /** What this call found used beyond the hold, before it was booked. */
  readonly excess: number;
}

const PARAMETERS = 21;

/** It commits before its end; whoever hears of a failure after that finds the holds closed when trying again. */
export const CLOSE: Statement = {
  name: LEDGER_CLOSE.name,
  text: `CALL ${LEDGER_CLOSE.name}(${Array.from({ length: PARAMETERS }, (_, n) => `$${n + 1}`).join(', ')}, NULL)`,
};

export const EXPIRE: Statement = {
  name: LEDGER_EXPIRE.name,
  text: `SELECT ${LEDGER_EXPIRE.name}($1, $2, $3, $4, $5, $6) AS closed`,
};

/** What both of them answer. */
export interface ClosedAnswer {
  readonly closed: readonly (readonly [
    id: string,
    state: HoldState,
    charged: number,
    held: number,
    overrun: number,
    available: number,
    model: string,
    excess: number,
  ])[];
}

export function closedRows([answer]: readonly ClosedAnswer[]): ClosedRow[] {
  return (answer?.closed ?? []).map(([id, state, charged, held, overrun, available, model, excess]) => ({
    id,
    state,
    charged,
    held,
    overrun,
    available,
    model,
    excess,
  }));
}

/**
 * Of several that close one hold in a batch only the first is sent; the others hear the same. In the order of their ids,
 * in which the database locks them.
 */
export function closeValues(closes: readonly CloseRequest[], offsetUs: number): unknown[] {
  const byId = new Map(closes.toReversed().map((closing) => [closing.requestId, closing]));
  const first = [...byId.values()].sort((one, other) => (one.requestId < other.requestId ? -1 : 1));
  const usage = (count: keyof Usage) => plainArray(first.map((closing) => closing.usage[count]));
  const endings = first.map((closing) => closing.ending);
  return [
    ...moneyRules(offsetUs),
    textArray(first.map((closing) => closing.requestId)),
    textArray(first.map((closing) => closing.state)),
    plainArray(endings.map(({ outcome }) => isFailure(outcome))),
    usage('input'),
    usage('cached'),
    usage('output'),
    usage('reasoning'),
    usage('images'),
    textArray(first.map((closing) => closing.source)),
    textArray(endings.map(({ outcome }) => outcome)),
    textArray(endings.map(({ errorCode }) => errorCode)),
    textArray(endings.map(({ finishReason }) => finishReason)),
    textArray(endings.map(({ upstream }) => upstream)),
    textArray(endings.map(({ attempts }) => (attempts.length === 0 ? null : JSON.stringify(attempts)))),
    plainArray(endings.map(({ firstByteMs }) => whole(firstByteMs))),
    plainArray(endings.map(({ durationMs }) => whole(durationMs))),
  ];
}

export function expireValues(most: number, offsetUs: number): unknown[] {
  return [...moneyRules(offsetUs), most];
}

/** The first arguments of both functions. */
function moneyRules(offsetUs: number): unknown[] {
  return [offsetUs, MAX_BALANCE, MAX_COST, OVERRUN_ACCOUNT, OVERRUN_CEILING];
}

/** Times are whole milliseconds in the books, however they were measured. */
function whole(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms);
}

export function settledOf(row: ClosedRow | undefined, requestId: RequestId): Settled | Fault {
  if (!row) {
    return new Fault('internal_error', 'Something went wrong on our side. Retry later.', {
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
