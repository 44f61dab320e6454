import { Fault } from '../../std/fault.ts';
import { randomPart } from '../../std/ids.ts';
import { MAX_BALANCE, nanoUsd, ZERO, type NanoUsd } from '../../std/money.ts';
import type { NewEntry } from '../port.ts';
import { unavailable } from './batch-queue.ts';
import { CallFailed, type LedgerPool, type Statement } from './pool.ts';
import { balanceAfter } from '../decide.ts';

/** Posts an entry, once: a connection that breaks is no reason to guess, since the same key may simply be sent again. */
export async function postEntry(
  session: LedgerPool,
  entry: NewEntry,
  offsetUs: number,
): Promise<{ entryId: number; balance: NanoUsd }> {
  checkAmount(entry);
  const { accountId, kind, amount, cause, actor } = entry;
  const once = entry.once ?? `post:${randomPart(ONCE_LENGTH)}`;
  const row = await callAgain(session, [offsetUs, MAX_BALANCE, accountId, kind, amount, once, cause, actor]);
  if (!row) throw new Fault('invalid_field', 'There is no such account.', { param: 'account' });
  if (row.entry_id !== null) return { entryId: row.entry_id, balance: nanoUsd(row.balance) };
  balanceAfter({ balance: nanoUsd(row.balance), held: nanoUsd(row.held) }, entry);
  throw new Error('an entry within all bounds was refused');
}

const ONCE_LENGTH = 22;
const MOST_ATTEMPTS = 3;
const DUPLICATE_KEY = '23505';

const POST: Statement = {
  name: 'ledger_post',
  text: 'SELECT * FROM ledger_post($1, $2, $3, $4, $5, $6, $7, $8)',
};

interface PostRow {
  readonly entry_id: number | null;
  readonly balance: number;
  readonly held: number;
}

async function callAgain(session: LedgerPool, values: readonly unknown[]): Promise<PostRow | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return (await session.call<PostRow>(POST, values))[0];
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      // The same key at the same moment on another account: this one finds it there the second time.
      const worthIt = error.outcome === 'unknown' || error.sqlState === DUPLICATE_KEY;
      if (!worthIt || attempt === MOST_ATTEMPTS) throw unavailable(error.message, error);
    }
  }
}

/** Refuses what no balance could make right, before it meets the database's number types. */
function checkAmount(entry: NewEntry): void {
  const enough = Number.isSafeInteger(entry.amount) ? Math.max(0, 0 - entry.amount) : 0;
  balanceAfter({ balance: nanoUsd(enough), held: ZERO }, entry);
}
