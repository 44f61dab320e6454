import type { RequestId } from '../../std/ids.ts';
import { MAX_CLIENT, type Admission, type AdmissionRequest } from '../port.ts';
import { plainArray, textArray } from './batch.ts';
import type { Statement } from './pool.ts';
import { LEDGER_RESTORE } from './settlement-sql.ts';
import type { Lease } from '../lease.ts';
import { priceToText } from '../price.ts';
import { NumberedValues, routeKey } from './numbers.ts';

/**
 * Remembers the holds of this node until they are closed, so that they can be written again if the database lost them
 * (see `ledger_admit`). Without that, requests that ran when the database crashed would be served for free.
 */
export class IssuedHolds {
  readonly #holds = new Map<RequestId, IssuedHold>();

  remember(
    requests: readonly AdmissionRequest[],
    admissions: readonly (Admission | undefined)[],
    nowMs: number,
  ): void {
    for (const [index, request] of requests.entries()) {
      const admission = admissions[index];
      if (admission?.kind === 'admitted') this.#holds.set(request.requestId, { request, admission, nowMs });
    }
    for (const oldest of this.#holds.keys()) {
      if (this.#holds.size <= MOST_REMEMBERED) break;
      this.#holds.delete(oldest);
    }
  }

  forget(ids: Iterable<string>): void {
    // A set of strings: the question is whether a text is one of our ids.
    for (const id of ids) this.#holds.delete(id as RequestId);
  }

  get(id: RequestId): IssuedHold | undefined {
    return this.#holds.get(id);
  }

  among(ids: readonly RequestId[]): IssuedHold[] {
    return ids.flatMap((id) => this.#holds.get(id) ?? []);
  }
}

export interface IssuedHold {
  readonly request: AdmissionRequest;
  readonly admission: Admission & { readonly kind: 'admitted' };
  readonly nowMs: number;
}

/**
 * Postgres writes its log to disk within a second by itself: a hold with this many after it cannot be lost any more.
 */
const MOST_REMEMBERED = 20_000;

export const RESTORE: Statement = {
  name: LEDGER_RESTORE.name,
  text: `SELECT ${LEDGER_RESTORE.name}(${Array.from({ length: 22 }, (_, n) => `$${n + 1}`).join(', ')})`,
};

export function restoreValues(holds: readonly IssuedHold[], lease: Lease): unknown[] {
  const requests = holds.map(({ request }) => request);
  const ceilings = requests.map(({ ceiling }) => ceiling);
  const values = new NumberedValues();
  values.nodes.add(lease.node);
  for (const request of requests) {
    values.prices.set(priceToText(request.price), request.price);
    values.routes.set(routeKey(request), request);
  }
  const prices = [...values.prices.keys()];
  const routes = [...values.routes.keys()];
  return [
    lease.leaseMs,
    ...values.parameters(),
    textArray(requests.map(({ requestId }) => requestId)),
    textArray(holds.map(({ admission }) => admission.accountId)),
    plainArray(holds.map(({ admission }) => admission.held)),
    // Places among the values above, counted from one.
    plainArray(requests.map(({ price }) => prices.indexOf(priceToText(price)) + 1)),
    plainArray(requests.map((request) => routes.indexOf(routeKey(request)) + 1)),
    plainArray(ceilings.map((ceiling) => (ceiling.kind === 'tokens' ? ceiling.input : 0))),
    plainArray(holds.map(({ admission }) => admission.output)),
    plainArray(ceilings.map((ceiling) => (ceiling.kind === 'tokens' ? ceiling.choices : ceiling.images))),
    plainArray(requests.map(({ stream }) => (stream ? 1 : 0))),
    textArray(requests.map(({ client }) => client.slice(0, MAX_CLIENT))),
    plainArray(holds.map(({ nowMs }) => nowMs)),
  ];
}
