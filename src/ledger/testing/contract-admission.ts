import { expect } from 'bun:test';
import { newRequestId } from '../../std/ids.ts';
import { nanoUsd, ZERO } from '../../std/money.ts';
import {
  accountRow,
  addAccount,
  chatAdmission,
  imageAdmission,
  credit,
  FAILED,
  FREE,
  hold,
  refusal,
  requestRow,
  used,
  type ContractCheck,
} from './contract-harness.ts';

/** Who may spend, and how much a hold is. */
export function admissionCases(check: ContractCheck): void {
  whoCases(check);
  moneyCases(check);
  exactCases(check);
  reuseCases(check);
  clampCases(check);
}

function reuseCases(check: ContractCheck): void {
  check(
    'requests of one account that come together by token and by account share its money',
    async (harness) => {
      const [account, other] = [await addAccount(harness, 4_200), await addAccount(harness, 4_200)];
      const byAccount = { caller: { kind: 'account', id: account.id } } as const;
      const [first, second, third, beside] = await Promise.all(
        [
          chatAdmission(account),
          chatAdmission(account, byAccount),
          chatAdmission(account, byAccount),
          chatAdmission(other),
        ].map((request) => harness.ledger().admit(request)),
      );
      expect([first, second, beside]).toMatchObject(Array.from({ length: 3 }, () => ({ held: 2_100 })));
      expect(third).toMatchObject({ kind: 'refused', reason: 'funds_on_hold' });
      expect(await accountRow(harness, account)).toMatchObject({ held: 4_200, open_holds: 2 });
      expect((await harness.ledger().verify()).breaches).toEqual([]);
    },
  );
  check(
    'an id that was used before is refused at once, and nothing is held for it, whether its request runs or is over',
    async (harness) => {
      const account = await addAccount(harness, 10_000);
      const [settled, voided, running] = [
        chatAdmission(account),
        chatAdmission(account),
        chatAdmission(account),
      ];
      for (const request of [settled, voided, running]) await hold(harness, request);
      await harness.ledger().settle(settled.requestId, used({ output: 10 }));
      await harness.ledger().void(voided.requestId, FAILED);
      const before = await accountRow(harness, account);
      const beside = chatAdmission(account);
      const answers = await Promise.allSettled(
        [settled, voided, beside, running].map((request) => harness.ledger().admit(request)),
      );
      expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled', 'rejected']);
      for (const answer of answers)
        if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'internal_error' });
      expect(await accountRow(harness, account)).toMatchObject({
        held: before.held + 2_100,
        open_holds: before.open_holds + 1,
      });
      await harness.advance(harness.leaseMs + 1_000);
      expect(await harness.ledger().expire()).toBe(2);
      expect((await harness.ledger().verify({ full: true })).breaches).toEqual([]);
    },
  );
}

function whoCases(check: ContractCheck): void {
  check('an unknown token is refused without any limits', async (harness) => {
    const stranger = { id: 'acc_nobody', hash: 'nobody' } as Awaited<ReturnType<typeof addAccount>>;
    const refused = refusal(await harness.ledger().admit(chatAdmission(stranger)));
    expect(refused).toMatchObject({
      reason: 'invalid_token',
      available: ZERO,
      rate: undefined,
      retryAfterMs: undefined,
    });
    expect(
      refusal(
        await harness
          .ledger()
          .admit(chatAdmission(stranger, { caller: { kind: 'account', id: stranger.id } })),
      ).reason,
    ).toBe('invalid_token');
  });

  check('a disabled account and a system account are refused like an unknown token', async (harness) => {
    const account = await addAccount(harness, 5_000);
    for (const change of [{ status: 'disabled' }, { status: 'active', role: 'system' }] as const) {
      await harness.store.db.updateTable('account').set(change).where('id', '=', account.id).execute();
      const refused = refusal(await harness.ledger().admit(chatAdmission(account)));
      expect(refused).toMatchObject({ reason: 'invalid_token', available: ZERO, rate: undefined });
      expect(await harness.ledger().identify({ kind: 'token', hash: account.hash })).toBeUndefined();
    }
  });

  check(
    'a replaced token is refused from the next request on, and the new one is accepted',
    async (harness) => {
      const account = await addAccount(harness, 1_000_000);
      for (let round = 0; round < 20; round++) {
        const old = chatAdmission(account, {
          caller: { kind: 'token', hash: `round-${round}` as typeof account.hash },
        });
        await harness.store.db
          .updateTable('account')
          .set({ token_hash: `round-${round}` })
          .where('id', '=', account.id)
          .execute();
        await hold(harness, old);
        await harness.store.db
          .updateTable('account')
          .set({ token_hash: `round-${round + 1}` })
          .where('id', '=', account.id)
          .execute();
        const refused = refusal(
          await harness.ledger().admit({ ...old, requestId: newRequestId(Date.now()) }),
        );
        expect(refused.reason).toBe('invalid_token');
      }
    },
  );

  check('a session may spend by account id, and only a token notes its use', async (harness) => {
    const account = await addAccount(harness, 10_000);
    const byId = chatAdmission(account, { caller: { kind: 'account', id: account.id } });
    expect(await harness.ledger().admit(byId)).toMatchObject({ kind: 'admitted', accountId: account.id });
    expect((await accountRow(harness, account)).token_used_at).toBeNull();
    await hold(harness, chatAdmission(account));
    expect((await accountRow(harness, account)).token_used_at).toBeGreaterThan(0);
  });
}

function moneyCases(check: ContractCheck): void {
  check('a hold is the worst case, and the row carries all that a bill needs', async (harness) => {
    const account = await addAccount(harness, 10_000);
    const request = chatAdmission(account, { stream: true, client: 'curl/8' });
    const admission = await harness.ledger().admit(request);
    expect(admission).toMatchObject({
      kind: 'admitted',
      held: nanoUsd(2_100),
      output: 1_000,
      available: nanoUsd(7_900),
    });
    expect(await accountRow(harness, account)).toMatchObject({
      balance: 10_000,
      held: 2_100,
      open_holds: 1,
    });
    const row = await requestRow(harness, request.requestId);
    expect(row).toMatchObject({
      state: 'pending',
      held: 2_100,
      charged: 0,
      kind: 'chat',
      endpoint: 'partner_chat',
      model: 'm',
    });
    expect(row).toMatchObject({
      input_ceiling: 100,
      output_cap: 1_000,
      choices: 1,
      stream: 1,
      client: 'curl/8',
    });
    expect(JSON.parse(row.price)).toEqual(request.price);
  });

  check(
    'an empty account is insufficient_balance, one with too little request_exceeds_balance, one whose money is held funds_on_hold',
    async (harness) => {
      const account = await addAccount(harness);
      const empty = refusal(await harness.ledger().admit(chatAdmission(account)));
      expect(empty).toMatchObject({
        reason: 'insufficient_balance',
        retryAfterMs: undefined,
        available: ZERO,
      });
      // The least useful answer: 100 input and 256 output tokens.
      expect(empty.required).toBe(nanoUsd(612));
      await credit(harness, account.id, 611);
      const short = refusal(await harness.ledger().admit(chatAdmission(account)));
      expect(short).toMatchObject({
        reason: 'request_exceeds_balance',
        retryAfterMs: undefined,
        available: nanoUsd(611),
      });
      await credit(harness, account.id, 2_000);
      await hold(harness, chatAdmission(account));
      const held = refusal(await harness.ledger().admit(chatAdmission(account)));
      expect(held).toMatchObject({ reason: 'funds_on_hold', available: nanoUsd(511) });
      expect(held.retryAfterMs).toBeGreaterThan(0);
    },
  );
}

function exactCases(check: ContractCheck): void {
  check('a free request needs no money, holds none and still leaves a receipt', async (harness) => {
    const account = await addAccount(harness);
    const request = chatAdmission(account, { price: FREE });
    expect(await harness.ledger().admit(request)).toMatchObject({
      kind: 'admitted',
      held: ZERO,
      output: 1_000,
    });
    const settled = await harness.ledger().settle(request.requestId, used({ input: 50, output: 70 }));
    expect(settled).toMatchObject({ state: 'posted', charged: ZERO, overrun: ZERO });
    expect(await requestRow(harness, request.requestId)).toMatchObject({
      state: 'posted',
      charged: 0,
      input_tokens: 50,
      output_tokens: 70,
      outcome: 'completed',
    });
  });

  check(
    'of 500 that come at once on a balance for exactly 100, exactly 100 are admitted',
    async (harness) => {
      const account = await addAccount(harness, 100 * 2_000);
      const requests = Array.from({ length: 500 }, () => imageAdmission(account, 2));
      const answers = await Promise.all(requests.map((request) => harness.ledger().admit(request)));
      expect(answers.filter((answer) => answer.kind === 'admitted')).toHaveLength(100);
      const admitted = requests.filter((_, index) => answers[index]?.kind === 'admitted');
      await Promise.all(
        admitted.map(({ requestId }) => harness.ledger().settle(requestId, used({ images: 2 }))),
      );
      expect(await accountRow(harness, account)).toMatchObject({ balance: 0, held: 0, open_holds: 0 });
      expect((await harness.ledger().verify()).breaches).toEqual([]);
    },
  );
}

function clampCases(check: ContractCheck): void {
  check('a cap the balance cannot afford is lowered to what it can, to the token', async (harness) => {
    const account = await addAccount(harness, 100 + 2 * 300 + 1);
    const request = chatAdmission(account);
    const admission = await harness.ledger().admit(request);
    expect(admission).toMatchObject({
      kind: 'admitted',
      held: nanoUsd(700),
      output: 300,
      available: nanoUsd(1),
    });
    expect((await requestRow(harness, request.requestId)).output_cap).toBe(300);
  });

  check(
    'the cap is lowered to 256 and no further, and one that was smaller is not lowered at all',
    async (harness) => {
      const account = await addAccount(harness, 612);
      expect(await harness.ledger().admit(chatAdmission(account))).toMatchObject({
        kind: 'admitted',
        output: 256,
      });
      const other = await addAccount(harness, 611);
      expect(refusal(await harness.ledger().admit(chatAdmission(other))).reason).toBe(
        'request_exceeds_balance',
      );
      const small = chatAdmission(other, {
        ceiling: { kind: 'tokens', input: 100, output: 255, choices: 1 },
      });
      expect(await harness.ledger().admit(small)).toMatchObject({
        kind: 'admitted',
        output: 255,
        held: nanoUsd(610),
      });
    },
  );

  check(
    'a request without output is refused when its input cannot be paid, beside one that can',
    async (harness) => {
      const account = await addAccount(harness, 150);
      const input = (tokens: number) =>
        chatAdmission(account, { ceiling: { kind: 'tokens', input: tokens, output: 0, choices: 1 } });
      const [dear, cheap] = await Promise.all(
        [input(1_000), input(100)].map((request) => harness.ledger().admit(request)),
      );
      expect(dear).toMatchObject({ kind: 'refused', reason: 'request_exceeds_balance' });
      expect(cheap).toMatchObject({ kind: 'admitted', held: 100, output: 0 });
    },
  );

  check('several choices share the cap, images are never fewer than asked', async (harness) => {
    const account = await addAccount(harness, 100 + 2 * 3 * 400 + 5);
    const three = chatAdmission(account, {
      ceiling: { kind: 'tokens', input: 100, output: 1_000, choices: 3 },
    });
    expect(await harness.ledger().admit(three)).toMatchObject({
      kind: 'admitted',
      output: 400,
      held: nanoUsd(2_500),
    });
    const painter = await addAccount(harness, 3_999);
    const refused = refusal(await harness.ledger().admit(imageAdmission(painter, 4)));
    expect(refused).toMatchObject({ reason: 'request_exceeds_balance', required: nanoUsd(4_000) });
    await hold(harness, imageAdmission(painter, 3));
  });
}
