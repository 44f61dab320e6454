import { addNano, ZERO } from '../../std/money.ts';
import { availableOf, decide, type LedgerAccount } from '../decide.ts';
import type { Lease } from '../lease.ts';
import type { Admission, AdmissionRequest } from '../port.ts';
import { priceToText } from '../price.ts';
import { storedClient } from '../stored-values.ts';
import type { Books } from './books.ts';

/** One admission inside a batch's transaction. */
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
  const { ceiling, endpoint, model, price } = request;
  const hold = {
    id: request.requestId,
    account_id: account.id,
    held,
    created_at: books.nowMs,
    node: books.numbers.node(lease.node),
    price: books.numbers.price(price),
    route: books.numbers.route(request.rate, endpoint, model),
    output_cap: output,
    choices: ceiling.kind === 'tokens' ? ceiling.choices : ceiling.images,
    stream: request.stream ? 1 : 0,
    client: storedClient(request.client),
    input_tokens: 0,
    cached_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
    images: 0,
    price_text: priceToText(price),
    endpoint,
    model,
  };
  books.statements.insertHold.run(
    hold.id,
    hold.account_id,
    held,
    books.nowMs + lease.leaseMs,
    hold.created_at,
    hold.node,
    hold.price,
    hold.route,
    ceiling.kind === 'tokens' ? ceiling.input : 0,
    output,
    hold.choices,
    hold.stream,
    hold.client,
  );
  books.rememberHold(hold);
}
