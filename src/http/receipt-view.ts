import type { AccountId } from '../std/ids.ts';
import { Fault } from '../std/fault.ts';
import { rateOf } from '../relay/admission.ts';
import type { Edge, Exchange } from './edge.ts';
import { json, rateHeaders } from './respond.ts';

/** Finds a receipt; another account's is as absent as one that never was. */
export interface Receipts {
  find(accountId: AccountId, requestId: string): Promise<unknown>;
}

/** `GET /requests/{id}`: what one request cost, and why. */
export async function receiptView(exchange: Exchange, edge: Edge, receipts: Receipts): Promise<Response> {
  const standing = await edge.standing(edge.caller(exchange));
  const receipt = await receipts.find(standing.accountId, exchange.parameters[0] ?? '');
  if (!receipt) throw new Fault('not_found', 'There is no such request on this account.');
  return json(receipt, exchange.requestId, rateHeaders(rateOf(standing, 'chat', edge.parts)));
}
