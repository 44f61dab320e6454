import { createHmac, randomBytes } from 'node:crypto';
import type { Transaction } from 'kysely';
import type { Clock } from '../std/clock.ts';
import { Fault } from '../std/fault.ts';
import { randomPart, type AccountId } from '../std/ids.ts';
import type { NanoUsd } from '../std/money.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { Ledger, Redeemed } from './port.ts';

/** Codes that are worth their amount to whoever enters them first. The store knows only their keyed hashes. */
export class RedeemCodes {
  readonly #options: RedeemCodesOptions;

  constructor(options: RedeemCodesOptions) {
    this.#options = options;
  }

  /** Makes a batch of codes, which are returned here and never again. */
  async make({
    amount,
    count,
    batch,
    expiresAt,
    actor,
  }: NewBatch): Promise<{ batch: string; codes: string[] }> {
    if (amount === 0)
      throw new Fault('invalid_field', 'A code must be worth something.', { param: 'amount' });
    if (!Number.isSafeInteger(count) || count < 1 || count > MAX_COUNT) {
      throw new Fault('invalid_field', `A batch has 1 to ${MAX_COUNT} codes.`, { param: 'count' });
    }
    const { store, clock } = this.#options;
    const name = batch ?? `batch-${randomPart(6)}`;
    if (!isBatchName(name)) {
      const rule = `A batch's name has 1 to ${MAX_BATCH_NAME} characters, and no control characters.`;
      throw new Fault('invalid_field', rule, { param: 'batch' });
    }
    const codes = Array.from({ length: count }, newCode);
    const shared = {
      batch: name,
      amount,
      created_by: actor,
      created_at: clock.now(),
      expires_at: expiresAt ?? null,
    };
    const rows = codes.map((code) =>
      Object.assign({ code_hash: this.#hash(code), hint: `…${code.slice(-4)}` }, shared),
    );
    await store.db.transaction().execute(async (tx) => {
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
   * From now on no code of the batch can be redeemed; what was redeemed stays. Returns how many could still be
   * redeemed.
   */
  async cancel(batch: string): Promise<number> {
    const { store, clock } = this.#options;
    const now = clock.now();
    // A code that has expired is refused by every version of Tollgate that may run beside this one.
    const { numUpdatedRows } = await store.db
      .updateTable('redeem_code')
      .set({ expires_at: now })
      .where('batch', '=', batch)
      .where('redeemed_at', 'is', null)
      .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
      .executeTakeFirstOrThrow();
    await store.durable();
    return Number(numUpdatedRows);
  }

  #hash(code: string): string {
    return createHmac('sha256', this.#options.key).update(code).digest('hex');
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
}

const MAX_COUNT = 1_000;
export const MAX_BATCH_NAME = 60;

/** Postgres cannot store NUL, and replaces half of a surrogate pair. */
function isBatchName(name: string): boolean {
  return name !== '' && name.length <= MAX_BATCH_NAME && name.isWellFormed() && !/\p{Cc}/u.test(name);
}

/** Crockford's Base32: no I, L, O, U, so that a code survives being read aloud. */
const LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Sixteen letters, 80 random bits, in groups of four. */
function newCode(): string {
  const letters = Array.from(randomBytes(16), (byte) => LETTERS.charAt(byte % 32)).join('');
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

async function refuseTaken(tx: Transaction<Schema>, batch: string): Promise<void> {
  const taken = await tx
    .selectFrom('redeem_code')
    .select('batch')
    .where('batch', '=', batch)
    .limit(1)
    .executeTakeFirst();
  if (taken) throw new Fault('invalid_field', `There is a batch '${batch}' already.`, { param: 'batch' });
}
