import { Fault } from '../../std/fault.ts';
import { requestTime, type RequestId } from '../../std/ids.ts';
import { addNano, nanoUsd, subtractNano, ZERO } from '../../std/money.ts';
import { cacheSaving } from '../cache-saving.ts';
import {
  OUTCOME_CODES,
  PROMPT_MS,
  RECEIPT_STATES,
  SOURCE_CODES,
  STATE_CODES,
} from '../../store/receipt-codes.ts';
import {
  availableOf,
  bookableOverrun,
  chargeFor,
  detailText,
  NO_CHARGE,
  OVERRUN_ACCOUNT,
  requestCost,
  storedMs,
  type Charge,
  possibleCost,
  type RequestCost,
} from '../decide.ts';
import type { LedgerAccount } from '../decide.ts';
import { causeOf, REQUEST_ACTOR } from '../entries.ts';
import type { Ending, HoldState, Progress, Settled, Settlement, UsageSource } from '../port.ts';
import {
  extraUsageOf,
  extraUsageText,
  isEmpty,
  isUsage,
  NO_USAGE,
  priceFromText,
  type Usage,
} from '../price.ts';
import type { Lease } from '../lease.ts';
import type { LedgerTransaction } from './transaction.ts';
import type { HoldRow, ReceiptRow } from './statements.ts';

/** Each function is one operation inside a batch's transaction. It throws a fault only before it changes anything. */

export function settle(
  transaction: LedgerTransaction,
  { requestId, settlement }: { readonly requestId: string; readonly settlement: Settlement },
): Settled {
  const hold = transaction.hold(requestId);
  if (!hold) return closedBefore(transaction, requestId);
  const { usage, source } = settlement;
  const charge = chargeFor(priceFromText(hold.price_text), nanoUsd(hold.held), usage);
  return close(transaction, hold, { state: 'posted', charge, usage, source, ending: settlement });
}

export function voidHold(transaction: LedgerTransaction, requestId: string, ending: Ending): Settled {
  const hold = transaction.hold(requestId);
  if (!hold) return closedBefore(transaction, requestId);
  return close(transaction, hold, {
    state: 'void',
    charge: NO_CHARGE,
    usage: NO_USAGE,
    source: undefined,
    ending,
  });
}

/**
 * Nobody renews this hold any more: what was delivered is charged; if nothing was, the hold is voided. What its backend did
 * beyond that nobody knows, so the rest of the hold is a possible cost.
 */
export function expireHold(transaction: LedgerTransaction, hold: HoldRow): void {
  const usage: Usage = {
    input: hold.input_tokens,
    cached: hold.cached_tokens,
    output: hold.output_tokens,
    reasoning: hold.reasoning_tokens,
    images: hold.images,
    ...extraUsageOf(hold.extra),
  };
  const ending: Ending = {
    outcome: 'expired',
    attempts: [],
    durationMs: Math.max(0, transaction.nowMs - hold.created_at),
  };
  const held = nanoUsd(hold.held);
  if (isEmpty(usage)) {
    const cost = possibleCost(held);
    close(transaction, hold, { state: 'void', charge: NO_CHARGE, usage, source: undefined, ending, cost });
    return;
  }
  const charge = chargeFor(priceFromText(hold.price_text), held, usage);
  const cost = possibleCost(subtractNano(held, charge.charged));
  close(transaction, hold, { state: 'expired', charge, usage, source: 'counted', ending, cost });
}

/** A lease is renewed even if the meter of its request makes no sense; then the last good reading stays. */
export function renew(
  transaction: LedgerTransaction,
  progress: readonly Progress[],
  leaseMs: number,
): RequestId[] {
  const closed: RequestId[] = [];
  for (const { requestId, delivered } of progress) {
    const { changes } = transaction.statements.renewLease.run(transaction.nowMs + leaseMs, requestId);
    if (changes === 0) {
      if (transaction.statements.receipt.get(requestId)) closed.push(requestId);
      continue;
    }
    if (!isUsage(delivered)) {
      transaction.alarms.push({ event: 'meter_refused', request: requestId, delivered });
      continue;
    }
    const { input, cached, output, reasoning, images } = delivered;
    transaction.forgetHold(requestId);
    const extra = extraUsageText(delivered);
    transaction.statements.writeProgress.run(input, cached, output, reasoning, images, extra, requestId);
  }
  return closed;
}

/** False: it is closed, or its lease is being renewed. */
export function adopt(transaction: LedgerTransaction, requestId: string, { node, leaseMs }: Lease): boolean {
  const { nowMs, numbers, statements } = transaction;
  const { changes } = statements.adoptHold.run(requestId, nowMs, nowMs + leaseMs, numbers.node(node));
  if (changes > 0) transaction.forgetHold(requestId);
  return changes > 0;
}

export function giveUp(transaction: LedgerTransaction, requestIds: readonly string[]): void {
  for (const requestId of requestIds) transaction.statements.renewLease.run(transaction.nowMs, requestId);
}

interface Closing {
  readonly state: Exclude<HoldState, 'pending'>;
  readonly charge: Charge;
  readonly usage: Usage;
  readonly source: UsageSource | undefined;
  readonly ending: Ending;
  /** Absent: what its attempts cost. */
  readonly cost?: RequestCost;
}

/** Everything that happens when a hold ends: money, the receipt, the day's sums. */
function close(
  transaction: LedgerTransaction,
  hold: HoldRow,
  { state, charge, usage, source, ending, cost = requestCost(ending) }: Closing,
): Settled {
  transaction.forgetHold(hold.id);
  const account = accountOf(transaction, hold);
  const overrun = bookOverrun(transaction, hold, charge);
  const held = nanoUsd(hold.held);
  const { charged } = charge;
  account.release({ held, admittedAt: hold.created_at }, charged, transaction.isThisMonth(hold.created_at));
  transaction.touch(account);
  transaction.statements.deleteHold.get(hold.id);
  insertReceipt(transaction, hold, { state, charge: { charged, overrun }, usage, source, ending, cost });
  transaction.sums.add({
    accountId: account.id,
    endpoint: hold.endpoint,
    model: hold.model,
    backend: ending.upstream,
    createdAt: hold.created_at,
    durationMs: storedMs(ending.durationMs),
    outcome: ending.outcome,
    usage,
    charged,
    cost,
    saved: state === 'void' || usage.cached === 0 ? 0 : cacheSaving(priceFromText(hold.price_text), usage),
  });
  return { state, charged, held, overrun, available: availableOf(account.money) };
}

interface CostedClosing extends Closing {
  readonly cost: RequestCost;
}

function insertReceipt(transaction: LedgerTransaction, hold: HoldRow, closing: CostedClosing): void {
  const { state, charge, usage, source, ending, cost } = closing;
  const { upstream, firstByteMs } = ending;
  const promptMs = transaction.nowMs - requestTime(hold.id);
  const receipt = transaction.statements.insertReceipt;
  const { values } = receipt;
  values[0] = hold.id;
  values[1] = hold.account_id;
  values[2] = hold.held;
  values[3] = charge.charged;
  values[4] = charge.overrun;
  values[5] = hold.created_at;
  values[6] = transaction.nowMs;
  values[7] = hold.node;
  values[8] = hold.price;
  values[9] = hold.route;
  values[10] = upstream === undefined ? null : transaction.numbers.backend(upstream);
  values[11] = usage.input;
  values[12] = usage.cached;
  values[13] = usage.output;
  values[14] = usage.reasoning;
  values[15] = usage.images;
  values[16] = hold.output_cap;
  values[17] = hold.choices;
  values[18] = firstByteMs === undefined ? null : storedMs(firstByteMs);
  values[19] = storedMs(ending.durationMs);
  values[20] = STATE_CODES[state];
  values[21] = OUTCOME_CODES[ending.outcome];
  values[22] = source === undefined ? null : SOURCE_CODES[source];
  values[23] = hold.stream;
  values[24] = promptMs >= 0 && promptMs <= PROMPT_MS ? 0 : 1;
  values[25] = hold.client;
  values[26] = detailText(ending);
  values[27] = extraUsageText(usage);
  values[28] = cost.spent ?? null;
  values[29] = cost.possible;
  receipt.get(values);
  transaction.noteReceipt(hold.id);
}

/** A backend used more than it was allowed: the account pays its hold, the operator pays the rest and is told. */
function bookOverrun(transaction: LedgerTransaction, hold: HoldRow, charge: Charge): Charge['overrun'] {
  if (charge.overrun === 0) return ZERO;
  const operator = transaction.account(OVERRUN_ACCOUNT);
  if (!operator) throw new Error(`the account ${OVERRUN_ACCOUNT} is missing`);
  const overrun = bookableOverrun(charge.overrun, operator.balance);
  operator.balance = addNano(operator.balance, overrun);
  transaction.touch(operator);
  transaction.statements.insertEntry.run(
    operator.id,
    'overrun',
    overrun,
    hold.id,
    null,
    causeOf(hold),
    REQUEST_ACTOR,
    transaction.nowMs,
  );
  transaction.alarms.push({
    event: 'overrun',
    request: hold.id,
    account: hold.account_id,
    endpoint: hold.endpoint,
    model: hold.model,
    overrunNanoUsd: charge.overrun,
  });
  return overrun;
}

/** There is no hold: either there is a receipt, or there never was such a request. */
function closedBefore(transaction: LedgerTransaction, requestId: string): Settled {
  const receipt = transaction.statements.receipt.get(requestId);
  if (!receipt)
    throw new Fault('internal_error', 'Something went wrong on our side. Try again later.', {
      detail: `no hold ${requestId}`,
    });
  return {
    state: RECEIPT_STATES[receipt.state - 1] ?? 'void',
    charged: nanoUsd(receipt.charged),
    held: nanoUsd(receipt.held),
    overrun: nanoUsd(receipt.overrun),
    available: availableOf(accountOf(transaction, receipt).money),
  };
}

function accountOf(transaction: LedgerTransaction, { id, account_id }: HoldRow | ReceiptRow): LedgerAccount {
  const account = transaction.account(account_id);
  if (!account) throw new Error(`request ${id} has no account`);
  // What it can spend now is told, whatever its budget's last period has used.
  account.budget?.enter(transaction.nowMs);
  return account;
}
