import { createHmac, randomBytes } from 'node:crypto';
import { sql, type Selectable, type Transaction } from 'kysely';
import type { Clock } from '../std/clock.ts';
import { Fault } from '../std/fault.ts';
import { keyedPart, randomPart, type AccountId } from '../std/ids.ts';
import { formatUsd, nanoUsd, type NanoUsd } from '../std/money.ts';
import { plural } from '../std/plural.ts';
import { lockRow } from '../store/row-lock.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { Ledger, Redeemed } from './port.ts';

/** Codes that are worth their amount to whoever enters them first. The store knows only their keyed hashes. */
export class RedeemCodes {
  readonly #options: RedeemCodesOptions;

  constructor(options: RedeemCodesOptions) {
    this.#options = options;
  }

  /**
   * Makes a batch of codes, which are returned here and never again, but under the same `once`: whoever has it gets them for
   * a day, also from a server that was killed before it had told them. They follow from it and are kept nowhere.
   */
  async make({
    amount,
    count,
    batch,
    expiresAt,
    actor,
    once,
  }: NewBatch): Promise<{ batch: string; codes: string[] }> {
    if (amount === 0)
      throw new Fault('invalid_field', 'A code must be worth something.', { param: 'amount' });
    if (!Number.isSafeInteger(count) || count < 1 || count > MAX_COUNT) {
      throw new Fault('invalid_field', `A batch has 1 to ${MAX_COUNT} codes.`, { param: 'count' });
    }
    const { store, clock } = this.#options;
    const name = batch ?? `batch-${once === undefined ? randomPart(6) : keyedPart(once).slice(0, 12)}`;
    if (!isBatchName(name)) {
      const rule = `A batch's name has 1 to ${MAX_BATCH_NAME} characters, and no control characters.`;
      throw new Fault('invalid_field', rule, { param: 'batch' });
    }
    const codes = Array.from({ length: count }, (_, index) =>
      codeOf(once === undefined ? randomBytes(CODE_LETTERS) : this.#lettersOf(once, index)),
    );
    const now = clock.now();
    const shared = {
      batch: name,
      amount,
      created_by: actor,
      created_at: now,
      expires_at: expiresAt ?? null,
    };
    const rows = codes.map((code) =>
      Object.assign({ code_hash: this.#hash(code), hint: `…${code.slice(-4)}` }, shared),
    );
    await store.db.transaction().execute(async (tx) => {
      // Of two batches of one name that are made at once, the second sees the first.
      await lockRow(tx, 'codes_lock', now);
      if (once !== undefined && (await isMade(tx, { rows, after: now - TOLD_MS }))) return;
      await refuseTaken(tx, name);
      await tx.insertInto('redeem_code').values(rows).execute();
    });
    await store.durable();
    return { batch: name, codes };
  }

  /** Credits the code's worth, once. `undefined`: the code does not exist, has expired, or was already redeemed. */
  async redeem(code: string, accountId: AccountId): Promise<Redeemed | undefined> {
    const { ledger, clock } = this.#options;
    try {
      return await ledger.redeem({ codeHash: this.#hash(normalCode(code)), accountId, at: clock.now() });
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.code !== 'invalid_field') throw thrown;
      throw new Fault('invalid_field', 'This account cannot take so much.', { param: 'code', cause: thrown });
    }
  }

  /**
   * From now on no code of the batch can be redeemed; what was redeemed stays. Returns how many nobody has redeemed, the
   * same however often it is asked; 0: there is none.
   */
  async cancel(batch: string): Promise<number> {
    const { store, clock } = this.#options;
    const now = clock.now();
    const unused = await store.db.transaction().execute(async (tx) => {
      // A code that has expired is refused by every version of Tollgate that may run beside this one.
      await tx
        .updateTable('redeem_code')
        .set({ expires_at: now })
        .where('batch', '=', batch)
        .where('redeemed_at', 'is', null)
        .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
        .execute();
      return await tx
        .selectFrom('redeem_code')
        .select(sql<number | string>`count(*)`.as('number'))
        .where('batch', '=', batch)
        .where('redeemed_at', 'is', null)
        .executeTakeFirstOrThrow();
    });
    await store.durable();
    return Number(unused.number);
  }

  #hash(code: string): string {
    return createHmac('sha256', this.#options.key).update(code).digest('hex');
  }

  /** No code has a space, so this is the hash of none. */
  #lettersOf(once: string, index: number): Uint8Array {
    return createHmac('sha256', this.#options.key).update(`code ${index} of ${once}`).digest();
  }
}

interface RedeemCodesOptions {
  readonly store: Store;
  readonly ledger: Pick<Ledger, 'redeem'>;
  /** Keyed with the installation's secret: a stolen copy of the store redeems nothing. */
  readonly key: Uint8Array;
  readonly clock: Clock;
}

export interface NewBatch {
  readonly amount: NanoUsd;
  readonly count: number;
  readonly batch?: string | undefined;
  readonly expiresAt?: number | undefined;
  readonly actor: string;
  /** The same makes the same codes, once. */
  readonly once?: string | undefined;
}

/** So long whoever has the key of a batch is told its codes again: no shorter than keys are remembered. */
const TOLD_MS = 25 * 3_600_000;

const MAX_COUNT = 1_000;
export const MAX_BATCH_NAME = 60;

/** Postgres cannot store NUL, and replaces half of a surrogate pair. */
function isBatchName(name: string): boolean {
  return name !== '' && name.length <= MAX_BATCH_NAME && name.isWellFormed() && !/\p{Cc}/u.test(name);
}

/** Crockford's Base32: no I, L, O, U, so that a code survives being read aloud. */
const LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

const CODE_LETTERS = 16;

/** Sixteen letters, 80 random bits, in groups of four. */
function codeOf(bytes: Uint8Array): string {
  const letters = Array.from(bytes.subarray(0, CODE_LETTERS), (byte) => LETTERS.charAt(byte % 32)).join('');
  return (letters.match(/.{4}/g) ?? []).join('-');
}

/** Accepts a code as people type it: in lower case, with spaces, with letters that look like digits. */
function normalCode(typed: string): string {
  const letters = typed
    .slice(0, 100)
    .toUpperCase()
    .replace(/[^0-9A-Z]/g, '')
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1');
  return (letters.match(/.{1,4}/g) ?? []).join('-');
}

interface BatchRows {
  readonly rows: readonly Pick<Selectable<Schema['redeem_code']>, 'code_hash' | 'batch' | 'amount'>[];
  readonly after: number;
}

/** Whether exactly these codes were made before; throws where other ones were made under the same key. */
async function isMade(tx: Transaction<Schema>, { rows, after }: BatchRows): Promise<boolean> {
  const [first] = rows;
  const found = await tx
    .selectFrom('redeem_code')
    .select(['batch', 'amount'])
    .where('code_hash', '=', first?.code_hash ?? '')
    .where('created_at', '>', after)
    .executeTakeFirst();
  if (!found) return false;
  const made = await tx
    .selectFrom('redeem_code')
    .select('code_hash')
    .where('batch', '=', found.batch)
    .execute();
  if (found.batch === first?.batch && found.amount === first.amount && made.length === rows.length)
    return true;
  throw new Fault(
    'idempotency_key_reused',
    `This key was used for ${plural(made.length, 'code')} of $${formatUsd(nanoUsd(found.amount))} in the batch '${found.batch}'.`,
  );
}

async function refuseTaken(tx: Transaction<Schema>, batch: string): Promise<void> {
  const taken = await tx
    .selectFrom('redeem_code')
    .select('batch')
    .where('batch', '=', batch)
    .limit(1)
    .executeTakeFirst();
  if (taken) throw new Fault('invalid_field', `There is a batch '${batch}' already.`, { param: 'batch' });
}
