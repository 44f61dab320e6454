import { Fault } from '../../std/fault.ts';
import { addNano, nanoUsd, subtractNano, ZERO } from '../../std/money.ts';
import {
  type LedgerAccount,
  availableOf,
  decide,
  balanceAfter,
  bookableOverrun,
  causeOf,
  chargeFor,
  isEmpty,
  isUsage,
  NO_CHARGE,
  OVERRUN_ACCOUNT,
  redeemedEntry,
  REQUEST_ACTOR,
  type Charge,
} from '../decide.ts';
import type { Lease } from '../lease.ts';
import type {
  Admission,
  AdmissionRequest,
  Ending,
  HoldState,
  NewEntry,
  Progress,
  Redeemed,
  Redemption,
  Settled,
  Settlement,
  UsageSource,
} from '../port.ts';
import { NO_USAGE, type Usage, priceFromText, priceToText } from '../price.ts';
import type { Books } from './books.ts';
import type { HoldRow } from './statements.ts';

/** Each function is one operation inside a batch's transaction. It throws a fault only before it changes anything. */

export function admitRequest(books: Books, request: AdmissionRequest, lease: Lease): Admission {
  const account = books.caller(request.caller);
  if (!account?.active) return NOBODY;
  const state = account.stateFor(request);
  const decision = decide(state, request, books.nowMs * 1000);
  if (decision.kind === 'refuse') {
    const { reason, retryAfterMs, required, rate } = decision;
    return { kind: 'refused', reason, retryAfterMs, required, rate, available: availableOf(account) };
  }
  insertHold(books, account, { request, lease, held: decision.hold, output: decision.output });
  account.held = addNano(account.held, decision.hold);
  account.openHolds++;
  account.arrivals[request.rate] = decision.arrivalUs;
  if (request.caller.kind === 'token') account.tokenUsedAt = books.nowMs;
  books.touch(account);
  return {
    kind: 'admitted',
    accountId: account.id,
    held: decision.hold,
    output: decision.output,
    rate: decision.rate,
    available: availableOf(account),
  };
}

/** A disabled account gets the same answer as an unknown token. */
const NOBODY: Admission = {
  kind: 'refused',
  reason: 'invalid_token',
  retryAfterMs: undefined,
  available: ZERO,
  required: ZERO,
  rate: undefined,
};

interface NewHold {
  readonly request: AdmissionRequest;
  readonly lease: Lease;
  readonly held: number;
  readonly output: number;
}

function insertHold(books: Books, account: LedgerAccount, { request, lease, held, output }: NewHold): void {
  const { ceiling } = request;
  books.statements.insertRequest.run(
    request.requestId,
    account.id,
    held,
    books.nowMs + lease.leaseMs,
    request.rate,
    request.endpoint,
    request.model,
    priceToText(request.price),
    ceiling.kind === 'tokens' ? ceiling.input : 0,
    output,
    ceiling.kind === 'tokens' ? ceiling.choices : ceiling.images,
    request.stream ? 1 : 0,
    request.client,
    books.nowMs,
    lease.node,
  );
  books.rememberHold({
    id: request.requestId,
    account_id: account.id,
    state: 'pending',
    held,
    charged: 0,
    overrun: 0,
    price: priceToText(request.price),
    endpoint: request.endpoint,
    model: request.model,
    created_at: books.nowMs,
    input_tokens: 0,
    cached_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
    images: 0,
  });
}

export function settle(books: Books, requestId: string, settlement: Settlement): Settled {
  const hold = holdOf(books, requestId);
  if (hold.state !== 'pending') return closedBefore(books, hold);
  const { usage, source } = settlement;
  const charge = chargeFor(priceFromText(hold.price), nanoUsd(hold.held), usage);
  return close(books, hold, { state: 'posted', charge, usage, source, ending: settlement });
}

export function voidHold(books: Books, requestId: string, ending: Ending): Settled {
  const hold = holdOf(books, requestId);
  if (hold.state !== 'pending') return closedBefore(books, hold);
  return close(books, hold, { state: 'void', charge: NO_CHARGE, usage: NO_USAGE, source: undefined, ending });
}

/** Nobody renews this hold any more: what was delivered is charged, and if that is nothing it is as if never asked. */
export function expireHold(books: Books, hold: HoldRow): void {
  const usage: Usage = {
    input: hold.input_tokens,
    cached: hold.cached_tokens,
    output: hold.output_tokens,
    reasoning: hold.reasoning_tokens,
    images: hold.images,
  };
  const ending: Ending = {
    outcome: 'expired',
    attempts: [],
    durationMs: Math.max(0, books.nowMs - hold.created_at),
  };
  if (isEmpty(usage)) {
    close(books, hold, { state: 'void', charge: NO_CHARGE, usage, source: undefined, ending });
    return;
  }
  const charge = chargeFor(priceFromText(hold.price), nanoUsd(hold.held), usage);
  close(books, hold, { state: 'expired', charge, usage, source: 'counted', ending });
}

/** A lease is renewed even if the meter of its request makes no sense; then the last good reading stays. */
export function renew(books: Books, progress: readonly Progress[], leaseMs: number): void {
  for (const { requestId, delivered } of progress) {
    books.statements.renewLease.run(books.nowMs + leaseMs, requestId);
    if (!isUsage(delivered)) {
      books.alarms.push({ event: 'meter_refused', requestId, delivered });
      continue;
    }
    const { input, cached, output, reasoning, images } = delivered;
    books.forgetHold(requestId);
    books.statements.writeProgress.run(input, cached, output, reasoning, images, requestId);
  }
}

export function post(books: Books, entry: NewEntry): { entryId: number; balance: LedgerAccount['balance'] } {
  const account = books.account(entry.accountId);
  if (!account) throw new Fault('invalid_field', 'There is no such account.', { param: 'account' });
  const before = entry.once === undefined ? undefined : books.statements.entryByOnce.get(entry.once)?.id;
  if (before !== undefined) return { entryId: before, balance: account.balance };
  const balance = balanceAfter(account, entry);
  const { lastInsertRowid } = books.statements.insertEntry.run(
    account.id,
    entry.kind,
    entry.amount,
    null,
    entry.once ?? null,
    entry.cause,
    entry.actor,
    books.nowMs,
  );
  account.balance = balance;
  books.touch(account);
  return { entryId: Number(lastInsertRowid), balance };
}

export function redeem(books: Books, { codeHash, accountId, at }: Redemption): Redeemed | undefined {
  const code = books.statements.redeemableCode.get(codeHash, at);
  if (!code) return undefined;
  const amount = nanoUsd(code.amount);
  const entry = { accountId, kind: 'credit', amount, ...redeemedEntry(codeHash, code.batch) } as const;
  const { balance } = post(books, entry);
  books.statements.markRedeemed.run(accountId, at, codeHash);
  return { amount, balance };
}

interface Closing {
  readonly state: Exclude<HoldState, 'pending'>;
  readonly charge: Charge;
  readonly usage: Usage;
  readonly source: UsageSource | undefined;
  readonly ending: Ending;
}

/** Everything that happens when a hold ends: money, entries, the receipt, the day's sums. */
function close(books: Books, hold: HoldRow, { state, charge, usage, source, ending }: Closing): Settled {
  books.forgetHold(hold.id);
  const account = accountOf(books, hold);
  const overrun = bookOverrun(books, hold, charge);
  const held = nanoUsd(hold.held);
  const { charged } = charge;
  account.balance = subtractNano(account.balance, charged);
  account.held = subtractNano(account.held, held);
  account.openHolds--;
  account.monthSpent = addNano(account.monthSpent, charged);
  books.touch(account);
  if (state !== 'void')
    insertEntry(books, hold, { accountId: account.id, kind: 'charge', amount: 0 - charged });
  writeReceipt(books, hold.id, { state, charge: { charged, overrun }, usage, source, ending });
  books.countUsage({
    accountId: account.id,
    endpoint: hold.endpoint,
    model: hold.model,
    createdAt: hold.created_at,
    outcome: ending.outcome,
    usage,
    charged,
  });
  return { state, charged, held, overrun, available: availableOf(account) };
}

function writeReceipt(
  books: Books,
  requestId: string,
  { state, charge, usage, source, ending }: Closing,
): void {
  books.statements.closeRequest.run(
    state,
    charge.charged,
    charge.overrun,
    books.nowMs,
    ending.firstByteMs ?? null,
    ending.durationMs,
    usage.input,
    usage.cached,
    usage.output,
    usage.reasoning,
    usage.images,
    source ?? null,
    ending.outcome,
    ending.errorCode ?? null,
    ending.finishReason ?? null,
    ending.upstream ?? null,
    ending.attempts.length === 0 ? null : JSON.stringify(ending.attempts),
    requestId,
  );
}

/** A backend that used more than it was allowed: the account pays its hold, the operator the rest, and hears of it. */
function bookOverrun(books: Books, hold: HoldRow, charge: Charge): Charge['overrun'] {
  if (charge.overrun === 0) return ZERO;
  const operator = books.account(OVERRUN_ACCOUNT);
  if (!operator) throw new Error(`the account ${OVERRUN_ACCOUNT} is missing`);
  const overrun = bookableOverrun(charge.overrun, operator.balance);
  operator.balance = addNano(operator.balance, overrun);
  books.touch(operator);
  insertEntry(books, hold, { accountId: operator.id, kind: 'overrun', amount: overrun });
  books.alarms.push({
    event: 'overrun',
    requestId: hold.id,
    model: hold.model,
    overrunNanoUsd: charge.overrun,
  });
  return overrun;
}

function insertEntry(
  books: Books,
  hold: HoldRow,
  { accountId, kind, amount }: { accountId: string; kind: 'charge' | 'overrun'; amount: number },
): void {
  // −0 would be stored as a float.
  const signed = amount === 0 ? 0 : amount;
  books.statements.insertEntry.run(
    accountId,
    kind,
    signed,
    hold.id,
    null,
    causeOf(hold),
    REQUEST_ACTOR,
    books.nowMs,
  );
}

function closedBefore(books: Books, hold: HoldRow): Settled {
  return {
    state: hold.state,
    charged: nanoUsd(hold.charged),
    held: nanoUsd(hold.held),
    overrun: nanoUsd(hold.overrun),
    available: availableOf(accountOf(books, hold)),
  };
}

function holdOf(books: Books, requestId: string): HoldRow {
  const hold = books.hold(requestId);
  if (!hold)
    throw new Fault('internal_error', 'Something went wrong on our side. Retry later.', {
      detail: `no hold ${requestId}`,
    });
  return hold;
}

function accountOf(books: Books, hold: HoldRow): LedgerAccount {
  const account = books.account(hold.account_id);
  if (!account) throw new Error(`hold ${hold.id} has no account`);
  return account;
}
