import { receiptOf, receiptView } from '../ledger/receipt.ts';
import { rateOf } from '../relay/admission.ts';
import { Fault } from '../std/fault.ts';
import type { Store } from '../store/store.ts';
import type { CallerAuth, Exchange } from '../http/caller.ts';
import { json, rateHeaders } from '../http/respond.ts';

/** `GET /requests/{id}`: what one request cost, and why. Another account's is as absent as one that never was. */
export async function answerReceipt(
  exchange: Exchange,
  callerAuth: CallerAuth,
  store: Store,
): Promise<Response> {
  const snapshot = await callerAuth.account(callerAuth.caller(exchange));
  const row = await store.db
    .selectFrom('request')
    .selectAll()
    .where('id', '=', exchange.parameters[0] ?? '')
    .where('account_id', '=', snapshot.accountId)
    .executeTakeFirst();
  if (!row) throw new Fault('not_found', 'There is no such request on this account.');
  return json(
    receiptView(receiptOf(row)),
    exchange.requestId,
    rateHeaders(rateOf(snapshot, 'chat', callerAuth.parts)),
  );
}
