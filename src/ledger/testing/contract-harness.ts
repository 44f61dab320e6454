import { expect, test } from 'bun:test';
import { newRequestId, type AccountId, type RequestId, type TokenHash } from '../../std/ids.ts';
import { nanoUsd, type NanoUsd } from '../../std/money.ts';
import type { Store } from '../../store/store.ts';
import type { Admission, AdmissionRequest, Ending, Ledger, Settlement } from '../port.ts';
import { NO_USAGE, type Price, type Usage } from '../price.ts';

export type MakeHarness = () => Promise<LedgerHarness>;

/** A ledger on an empty database of its own, controlled by a test. */
export interface LedgerHarness {
  readonly store: Store;
  readonly leaseMs: number;
  /** The current ledger; another one after a crash. */
  ledger(): Ledger;
  /** Moves the ledger's clock forward. Real time may pass as well; no case depends on less than a second of it. */
  advance(ms: number): Promise<void>;
  /** The ledger's clock. */
  now(): Promise<number>;
  /** Drops the ledger without closing it and opens another on the same database, with the recovery of a normal start. */
  crash(): Promise<void>;
  /** Runs a statement with checks, append-only triggers and unique indexes disabled, to corrupt the ledger. */
  corrupt(statement: string): Promise<void>;
  /** Back to an empty database. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

/** One nano-USD per input token, half of one per cached token, two per output token. */
export const TOKEN_PRICE: Price = {
  kind: 'tokens',
  input: 1_000_000,
  cachedInput: 500_000,
  output: 2_000_000,
};
export const IMAGE_PRICE: Price = { kind: 'images', image: nanoUsd(1_000) };
export const FREE: Price = { kind: 'tokens', input: 0, cachedInput: 0, output: 0 };
export const WIDE = { chatPerMinute: 600_000, imagesPerMinute: 600_000, concurrent: 10_000 };

export interface TestAccount {
  readonly id: AccountId;
  readonly hash: TokenHash;
}

let made = 0;

export async function addAccount(harness: LedgerHarness, balance = 0): Promise<TestAccount> {
  const number = ++made;
  const id = `acc_test${number}` as AccountId;
  const hash = `hash-${number}` as TokenHash;
  await harness.store.db
    .insertInto('account')
    .values({ id, email: `${number}@example.com`, token_hash: hash, created_at: 1 })
    .execute();
  if (balance > 0) await credit(harness, id, balance);
  return { id, hash };
}

/** A team with a balance, and accounts that spend it. */
export async function addTeam(harness: LedgerHarness, balance: number, accounts: number): Promise<TestTeam> {
  const id = `team_test${++made}` as AccountId;
  await harness.store.db
    .insertInto('account')
    .values({ id, kind: 'team', name: id, email: `${id}@team.invalid`, created_at: 1 })
    .execute();
  if (balance > 0) await credit(harness, id, balance);
  const apps: TestAccount[] = [];
  for (let number = 0; number < accounts; number++) {
    const app = await addAccount(harness);
    await harness.store.db
      .updateTable('account')
      .set({ kind: 'app', name: `app ${number}`, wallet_id: id, team_role: 'member' })
      .where('id', '=', app.id)
      .execute();
    apps.push(app);
  }
  return { id, apps };
}

export interface TestTeam {
  readonly id: AccountId;
  readonly apps: readonly TestAccount[];
}

export async function credit(harness: LedgerHarness, accountId: AccountId, amount: number): Promise<NanoUsd> {
  const posted = await harness
    .ledger()
    .post({ accountId, kind: amount < 0 ? 'adjustment' : 'credit', amount, cause: 'test', actor: 'test' });
  return posted.balance;
}

/** A chat of 100 input and 1,000 output tokens at most: a hold of 2,100 at {@link TOKEN_PRICE}. */
export function chatAdmission(account: TestAccount, more: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    requestId: newRequestId(Date.now()),
    caller: { kind: 'token', hash: account.hash },
    rate: 'chat',
    endpoint: 'partner_chat',
    model: 'm',
    price: TOKEN_PRICE,
    ceiling: { kind: 'tokens', input: 100, output: 1_000, choices: 1 },
    stream: false,
    client: 'test',
    limits: WIDE,
    ...more,
  };
}

export function imageAdmission(
  account: TestAccount,
  images: number,
  more: Partial<AdmissionRequest> = {},
): AdmissionRequest {
  return chatAdmission(account, {
    rate: 'images',
    price: IMAGE_PRICE,
    ceiling: { kind: 'images', images },
    ...more,
  });
}

/** Admits or fails the test. */
export async function hold(harness: LedgerHarness, request: AdmissionRequest): Promise<RequestId> {
  const admission = await harness.ledger().admit(request);
  if (admission.kind !== 'admitted') throw new Error(`refused: ${admission.reason}`);
  return request.requestId;
}

export function used(usage: Partial<Usage>, more: Partial<Settlement> = {}): Settlement {
  return {
    usage: { ...NO_USAGE, ...usage },
    source: 'upstream',
    outcome: 'completed',
    attempts: [],
    durationMs: 5,
    ...more,
  };
}

export const FAILED: Ending = {
  outcome: 'upstream_failed',
  attempts: [],
  durationMs: 3,
  errorCode: 'upstream_error',
};

export async function accountRow(harness: LedgerHarness, { id }: Pick<TestAccount, 'id'>) {
  return harness.store.db.selectFrom('account').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

export async function requestRow(harness: LedgerHarness, id: RequestId) {
  return harness.store.db.selectFrom('request').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

/** Every invariant holds, also when only the last days are looked at. */
export async function expectSound(harness: LedgerHarness): Promise<void> {
  for (const full of [true, false]) expect((await harness.ledger().verify({ full })).breaches).toEqual([]);
}

export function refusal(admission: Admission): Admission & { kind: 'refused' } {
  if (admission.kind !== 'refused') throw new Error('admitted');
  return admission;
}

/** States one promise and shows it on a harness of its own. */
export type ContractCheck = (promise: string, run: (harness: LedgerHarness) => Promise<void>) => void;

export function checkWith(makeHarness: MakeHarness): ContractCheck {
  return (promise, run) =>
    test(promise, async () => {
      const harness = await makeHarness();
      try {
        await run(harness);
      } finally {
        await harness.close();
      }
    });
}

/** An element that the case knows to be there. */
export function nth<T>(values: readonly T[], index: number): T {
  const value = values[index];
  if (value === undefined) throw new Error(`there is no element ${index}`);
  return value;
}
