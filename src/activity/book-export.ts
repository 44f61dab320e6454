import { spanOf } from '../ledger/archive.ts';
import { bookBill } from '../ledger/provider-bill.ts';
import type { Store } from '../store/store.ts';
import { MODELS_TOGETHER, type Reconciled, type ReconciledBooks } from './reconcile.ts';

/** What became of the failed attempts of one day and model, in nano-USD. */
export interface BookedModel {
  readonly day: number;
  readonly model: string;
  /** What they could have cost at most, and what is booked now. */
  readonly atMost: number;
  readonly billed: number;
  /** Why the books stay as they are; absent: they do not. */
  readonly kept?: 'not_over' | 'not_listed' | undefined;
}

/** A provider's export of a day may grow for some hours after the day is over. */
const SETTLED_MS = 24 * 3_600_000;

interface Booking {
  readonly store: Pick<Store, 'db' | 'backend' | 'durable'>;
  readonly nowMs: number;
  readonly actor: string;
  readonly cause: string;
}

/** Books what an export of costs says of failed attempts: each day in one transaction. */
export async function bookExport(
  { store, nowMs, actor, cause }: Booking,
  reconciled: readonly Reconciled[],
  { backends, nameAt = (model) => model }: ReconciledBooks,
): Promise<BookedModel[]> {
  const result: BookedModel[] = [];
  for (const [day, rows] of Map.groupBy(reconciled, (row) => row.day)) {
    const isOver = nowMs >= spanOf(day).toMs + SETTLED_MS;
    result.push(...rows.flatMap((row) => keptModel(row, isOver) ?? []));
    if (!isOver) continue;
    const listed = rows.filter(({ isListed }) => isListed);
    const isOneSum = listed.some(({ model }) => model === MODELS_TOGETHER);
    const booked = await bookBill(store, {
      day,
      amounts: new Map(listed.map(({ model, theirs }) => [model, theirs])),
      nameOf: (backend, model) => {
        if (backends && !backends.includes(backend)) return undefined;
        return isOneSum ? MODELS_TOGETHER : nameAt(model, backend);
      },
      cause,
      actor,
      at: nowMs,
    });
    result.push(...booked.map(({ name, atMost, billed }) => ({ day, model: name, atMost, billed })));
  }
  await store.durable();
  return result;
}

/** A model that the export does not have may have another name there: what it may cost stays. */
function keptModel(
  { day, model, possibleCost, isListed }: Reconciled,
  isOver: boolean,
): BookedModel | undefined {
  if (possibleCost === 0 || (isListed && isOver)) return undefined;
  return { day, model, atMost: possibleCost, billed: 0, kept: isListed ? 'not_over' : 'not_listed' };
}
