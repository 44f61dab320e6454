import { expect } from 'bun:test';
import { nanoUsd } from '../../std/money.ts';
import {
  accountRow,
  addAccount,
  chatAdmission,
  imageAdmission,
  credit,
  hold,
  nth,
  refusal,
  used,
  WIDE,
  type LedgerHarness,
  type ContractCheck,
  type TestAccount,
} from './contract-harness.ts';
import type { Updateable } from 'kysely';
import type { AccountTable } from '../../store/schema.ts';
import type { AdmissionRequest, RefusalReason } from '../port.ts';

/** How often, how many at once, how much a month. */
export function limitCases(check: ContractCheck): void {
  rateCases(check);
  concurrencyCases(check);
  monthCases(check);
  refusalCases(check);
}

const FIVE = { ...WIDE, chatPerMinute: 5 };
const DAY_MS = 86_400_000;

function rateCases(check: ContractCheck): void {
  check('a minute’s worth may come at once, then one per step, and Retry-After is true', async (harness) => {
    const account = await addAccount(harness, 1_000_000);
    const request = (): AdmissionRequest => chatAdmission(account, { limits: FIVE });
    for (const remaining of [4, 3, 2, 1, 0]) {
      const admission = await harness.ledger().admit(request());
      expect(admission).toMatchObject({ kind: 'admitted', rate: { limit: 5, remaining } });
    }
    for (let round = 0; round < 3; round++) {
      const refused = refusal(await harness.ledger().admit(request()));
      expect(refused).toMatchObject({ reason: 'rate_limit_exceeded', rate: { limit: 5, remaining: 0 } });
      const wait = refused.retryAfterMs ?? 0;
      expect(wait).toBeGreaterThan(5_000);
      expect(wait).toBeLessThanOrEqual(12_000);
      await harness.advance(wait - 4_000);
      expect(refusal(await harness.ledger().admit(request())).reason).toBe('rate_limit_exceeded');
      await harness.advance(4_000);
      await hold(harness, request());
    }
  });

  check('after a quiet minute the limit is whole again, never more than whole', async (harness) => {
    const account = await addAccount(harness, 1_000_000);
    const burst = () =>
      Promise.all(
        Array.from({ length: 20 }, () => harness.ledger().admit(chatAdmission(account, { limits: FIVE }))),
      );
    for (let minute = 0; minute < 2; minute++) {
      expect((await burst()).filter((answer) => answer.kind === 'admitted')).toHaveLength(5);
      await harness.advance(600_000);
    }
  });

  check(
    'chat and images have limits of their own, and an account’s own limit beats the default',
    async (harness) => {
      const account = await addAccount(harness, 1_000_000);
      const limits = { chatPerMinute: 1, imagesPerMinute: 1, concurrent: 50 };
      await hold(harness, chatAdmission(account, { limits }));
      expect(refusal(await harness.ledger().admit(chatAdmission(account, { limits }))).reason).toBe(
        'rate_limit_exceeded',
      );
      await hold(harness, imageAdmission(account, 1, { limits }));
      expect(refusal(await harness.ledger().admit(imageAdmission(account, 1, { limits }))).reason).toBe(
        'rate_limit_exceeded',
      );
      const other = await addAccount(harness, 1_000_000);
      await setLimits(harness, other, { chat_per_minute: 2 });
      await hold(harness, chatAdmission(other, { limits }));
      expect(await harness.ledger().admit(chatAdmission(other, { limits }))).toMatchObject({
        kind: 'admitted',
        rate: { limit: 2, remaining: 0 },
      });
    },
  );
}

function concurrencyCases(check: ContractCheck): void {
  check(
    'as many requests run at once as allowed: the open holds are the count, and each end frees one',
    async (harness) => {
      const account = await addAccount(harness, 1_000_000);
      const limits = { ...WIDE, concurrent: 3 };
      const answers = await Promise.all(
        Array.from({ length: 9 }, () => harness.ledger().admit(chatAdmission(account, { limits }))),
      );
      expect(answers.filter((answer) => answer.kind === 'admitted')).toHaveLength(3);
      const refused = refusal(nth(answers, 8));
      expect(refused.reason).toBe('concurrency_limit_exceeded');
      expect(refused.retryAfterMs).toBeGreaterThan(0);
      const open = await harness.store.db
        .selectFrom('request')
        .select('id')
        .where('state', '=', 'pending')
        .execute();
      const ids = open.map((row) => row.id as AdmissionRequest['requestId']);
      await harness.ledger().settle(nth(ids, 0), used({ output: 1 }));
      await hold(harness, chatAdmission(account, { limits }));
      await harness.ledger().void(nth(ids, 1), { outcome: 'upstream_failed', attempts: [], durationMs: 1 });
      await hold(harness, chatAdmission(account, { limits }));
      expect(refusal(await harness.ledger().admit(chatAdmission(account, { limits }))).reason).toBe(
        'concurrency_limit_exceeded',
      );
      await setLimits(harness, account, { concurrent: 4 });
      await hold(harness, chatAdmission(account, { limits }));
    },
  );
}

function monthCases(check: ContractCheck): void {
  check(
    'the monthly limit binds before the balance, counts holds and charges, and begins anew with the month',
    async (harness) => {
      const account = await addAccount(harness, 1_000_000);
      await setLimits(harness, account, { monthly_limit: 3_000 });
      const request = chatAdmission(account);
      expect(await harness.ledger().admit(request)).toMatchObject({
        kind: 'admitted',
        available: nanoUsd(900),
      });
      expect(refusal(await harness.ledger().admit(imageAdmission(account, 1))).reason).toBe('funds_on_hold');
      await harness.ledger().settle(request.requestId, used({ input: 100, output: 950 }));
      expect((await accountRow(harness, account)).month_spent).toBe(2_000);
      const refused = refusal(await harness.ledger().admit(imageAdmission(account, 2)));
      expect(refused).toMatchObject({
        reason: 'limit_reached',
        available: nanoUsd(1_000),
        retryAfterMs: undefined,
      });
      await harness.advance(32 * DAY_MS);
      const snapshot = await harness.ledger().identify({ kind: 'token', hash: account.hash });
      expect(snapshot).toMatchObject({ monthSpent: nanoUsd(0), monthlyLimit: nanoUsd(3_000) });
      const next = imageAdmission(account, 2);
      await hold(harness, next);
      await harness.ledger().settle(next.requestId, used({ images: 2 }));
      expect((await accountRow(harness, account)).month_spent).toBe(2_000);
    },
  );
}

function refusalCases(check: ContractCheck): void {
  check('a price is taken until the moment at which it ends, and not at it', async (harness) => {
    const account = await addAccount(harness, 1_000_000);
    const { now = 0 } = (await harness.ledger().identify({ kind: 'account', id: account.id })) ?? {};
    const request = () => chatAdmission(account, { validUntil: now + 60_000 });
    await hold(harness, request());
    await harness.advance(60_000);
    expect(refusal(await harness.ledger().admit(request())).reason).toBe('quote_again');
  });

  check(
    'a price is taken by wallets of the group that it was quoted for, whatever it is called',
    async (harness) => {
      const account = await addAccount(harness, 1_000_000);
      const reason = async (priceGroup?: string) =>
        refusal(await harness.ledger().admit(chatAdmission(account, { priceGroup }))).reason;
      expect(await reason('vip')).toBe('quote_again');
      await hold(harness, chatAdmission(account));
      await setLimits(harness, account, { price_group: 'vip' });
      expect([await reason(), await reason('partner')]).toEqual(['quote_again', 'quote_again']);
      await hold(harness, chatAdmission(account, { priceGroup: 'vip' }));
    },
  );

  check('limits are checked in a fixed order: rate, concurrency, money', async (harness) => {
    const account = await addAccount(harness, 2_100);
    const limits = { chatPerMinute: 1, imagesPerMinute: 1, concurrent: 1 };
    const request = chatAdmission(account, { limits });
    const next = async () => refusal(await harness.ledger().admit(chatAdmission(account, { limits }))).reason;
    await hold(harness, request);
    expect(await next()).toBe('rate_limit_exceeded');
    await harness.advance(60_000);
    expect(await next()).toBe('concurrency_limit_exceeded');
    await harness.ledger().settle(request.requestId, used({ input: 100, output: 1_000 }));
    expect(await next()).toBe('insufficient_balance');
    await harness.store.db
      .updateTable('account')
      .set({ status: 'disabled' })
      .where('id', '=', account.id)
      .execute();
    expect(await next()).toBe('invalid_token');
  });

  check('a refusal of any kind consumes nothing of any limit', async (harness) => {
    for (const [reason, prepare] of Object.entries(WAYS_TO_BE_REFUSED)) {
      const account = await addAccount(harness);
      const request = await prepare(harness, account);
      const before = [await accountRow(harness, account), await countRequests(harness)];
      for (let again = 0; again < 3; again++) {
        expect(
          refusal(await harness.ledger().admit({ ...request, requestId: chatAdmission(account).requestId }))
            .reason,
        ).toBe(reason as RefusalReason);
      }
      expect([await accountRow(harness, account), await countRequests(harness)]).toEqual(before);
    }
  });
}

type Preparation = (harness: LedgerHarness, account: TestAccount) => Promise<AdmissionRequest>;

const WAYS_TO_BE_REFUSED: Record<RefusalReason, Preparation> = {
  async count_first(harness, account) {
    await credit(harness, account.id, 100_000);
    return chatAdmission(account, { counting: 'first' });
  },
  async invalid_token(harness, account) {
    await harness.store.db
      .updateTable('account')
      .set({ status: 'disabled' })
      .where('id', '=', account.id)
      .execute();
    return chatAdmission(account);
  },
  async quote_again(harness, account) {
    await credit(harness, account.id, 100_000);
    await setLimits(harness, account, { price_group: 'vip' });
    return chatAdmission(account);
  },
  async network_not_allowed(harness, account) {
    await setLimits(harness, account, { token_networks: '192.0.2.0/24\n2001:db8::/32' });
    return chatAdmission(account, { caller: { kind: 'token', hash: account.hash, address: '198.51.100.7' } });
  },
  async model_not_allowed(harness, account) {
    await setLimits(harness, account, { token_models: 'partner_chat/n*' });
    return chatAdmission(account);
  },
  async rate_limit_exceeded(harness, account) {
    await credit(harness, account.id, 100_000);
    const limits = { ...WIDE, chatPerMinute: 1 };
    await hold(harness, chatAdmission(account, { limits }));
    return chatAdmission(account, { limits });
  },
  async concurrency_limit_exceeded(harness, account) {
    await credit(harness, account.id, 100_000);
    const limits = { ...WIDE, concurrent: 1 };
    await hold(harness, chatAdmission(account, { limits }));
    return chatAdmission(account, { limits });
  },
  insufficient_balance: (_, account) => Promise.resolve(chatAdmission(account)),
  async limit_reached(harness, account) {
    await credit(harness, account.id, 100_000);
    await setLimits(harness, account, { monthly_limit: 10 });
    return chatAdmission(account);
  },
  async funds_on_hold(harness, account) {
    await credit(harness, account.id, 2_100);
    await hold(harness, chatAdmission(account));
    return chatAdmission(account);
  },
  async request_exceeds_balance(harness, account) {
    await credit(harness, account.id, 10);
    return chatAdmission(account);
  },
};

async function countRequests(harness: LedgerHarness): Promise<number> {
  return (await harness.store.db.selectFrom('request').select('id').execute()).length;
}

async function setLimits(
  harness: LedgerHarness,
  account: TestAccount,
  limits: Updateable<AccountTable>,
): Promise<void> {
  await harness.store.db.updateTable('account').set(limits).where('id', '=', account.id).execute();
}
