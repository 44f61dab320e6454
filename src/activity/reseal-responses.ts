import type { Kysely, Selectable } from 'kysely';
import type { Schema } from '../store/schema.ts';
import { SealedJson } from './response-store.ts';

interface Keys {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

const TOGETHER = 20;

/** Encrypts all stored responses and conversations anew, in the transaction that replaces the secret. */
export async function resealResponses(db: Kysely<Schema>, { from, to }: Keys): Promise<void> {
  const sealed = new SealedJson(to);
  await forEachRow('stored_response', db, async ({ id, account_id: accountId, items }) => {
    const next = { items: sealed.again({ part: 'response', accountId, id }, items, from) };
    await db.updateTable('stored_response').set(next).where('id', '=', id).execute();
  });
  await forEachRow('conversation', db, async ({ id, account_id: accountId, head }) => {
    const next = { head: sealed.again({ part: 'head', accountId, id }, head, from) };
    await db.updateTable('conversation').set(next).where('id', '=', id).execute();
    await resealItems(db, id, { sealed, from });
  });
}

async function resealItems(
  db: Kysely<Schema>,
  id: string,
  { sealed, from }: { readonly sealed: SealedJson; readonly from: Uint8Array },
): Promise<void> {
  for (let after = 0; ;) {
    const rows = await db
      .selectFrom('conversation_item')
      .selectAll()
      .where('conversation_id', '=', id)
      .where('place', '>', after)
      .orderBy('place')
      .limit(TOGETHER)
      .execute();
    for (const { id: itemId, account_id: accountId, item, place } of rows)
      await db
        .updateTable('conversation_item')
        .set({ item: sealed.again({ part: 'item', accountId, id, itemId }, item, from) })
        .where('conversation_id', '=', id)
        .where('place', '=', place)
        .execute();
    const last = rows.at(-1);
    if (!last) return;
    after = last.place;
  }
}

type Sealed = 'stored_response' | 'conversation';

async function forEachRow<Table extends Sealed>(
  table: Table,
  db: Kysely<Schema>,
  reseal: (row: RowOf<Table>) => Promise<void>,
): Promise<void> {
  const either: Sealed = table;
  for (let after = ''; ;) {
    const rows = await db
      .selectFrom(either)
      .selectAll()
      .where('id', '>', after)
      .orderBy('id')
      .limit(TOGETHER)
      .execute();
    // The rows are those of the table.
    for (const row of rows) await reseal(row as RowOf<Table>);
    const last = rows.at(-1);
    if (!last) return;
    after = last.id;
  }
}

type RowOf<Table extends Sealed> = Selectable<Schema[Table]>;
