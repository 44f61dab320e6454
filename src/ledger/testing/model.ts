import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import type { TokenHash } from '../../std/ids.ts';
import {
  addAccount,
  addTeam,
  type LedgerHarness,
  type MakeHarness,
  type TestAccount,
} from './contract-harness.ts';
import { modelCommands } from './model-commands.ts';
import { Reference, type ReferenceAccount } from './model-reference.ts';

/** Each run of the tests has another seed, so that many runs see many histories. */
const RUNS = Number(process.env['TOLLGATE_MODEL_RUNS'] ?? 100);
const LONGEST_HISTORY = 25;
const TIMEOUT_MS = 300_000;
const OVERRUN_ACCOUNT = 'acc_overrun';

/**
 * Random histories on a real database against a reference model; a failure prints its seed and its shortest history.
 * A database that allows concurrency runs several histories at once, each on a ledger of its own.
 */
export function ledgerModel(name: string, makeHarness: MakeHarness, atOnce = 1): void {
  describe(`${name} agrees with the reference`, () => {
    let harnesses: LedgerHarness[];
    beforeAll(async () => {
      harnesses = await Promise.all(Array.from({ length: atOnce }, makeHarness));
    }, TIMEOUT_MS);
    afterAll(async () => {
      await Promise.all(harnesses.map((harness) => harness.close()));
    });

    test(
      `in ${RUNS} random histories, invariants checked after every step`,
      async () => {
        await Promise.all(
          harnesses.map((harness, index) => runHistories(harness, Math.ceil(RUNS / atOnce), index)),
        );
      },
      TIMEOUT_MS,
    );
  });
}

/** Each runner has a seed of its own, or all would run the same histories. */
async function runHistories(harness: LedgerHarness, histories: number, runner: number): Promise<void> {
  const { seed = 0 } = fc.readConfigureGlobal();
  const replayPath = process.env['FAST_CHECK_REPLAY_PATH'];
  await fc.assert(
    fc.asyncProperty(
      fc.commands(modelCommands(), {
        maxCommands: LONGEST_HISTORY,
        size: '+1',
        ...(replayPath ? { replayPath } : {}),
      }),
      async (commands) => {
        await harness.reset();
        const model = await startingLedger(harness);
        await fc.asyncModelRun(() => ({ model, real: harness }), commands);
        await expectOverrun(model, harness);
      },
    ),
    { numRuns: histories, seed: seed + runner },
  );
}

async function startingLedger(harness: LedgerHarness): Promise<Reference> {
  const model = new Reference(harness.leaseMs);
  for (const balance of [0, 5_000, 40_000])
    model.accounts.push(referenceOf(await addAccount(harness, balance), balance));
  const { id, apps } = await addTeam(harness, 20_000, 2);
  const team = referenceOf({ id, hash: NOBODY }, 20_000);
  model.accounts.push(team, ...apps.map((app) => ({ ...referenceOf(app, 0), team })));
  return model;
}

/** A team has no token. */
const NOBODY = '' as TokenHash;

function referenceOf(account: TestAccount, balance: number): ReferenceAccount {
  return {
    ...account,
    replaced: undefined,
    team: undefined,
    limit: undefined,
    balance: BigInt(balance),
    held: 0n,
    owed: 0n,
    openHolds: 0,
    monthSpent: 0n,
    monthlyLimit: undefined,
    rates: { chat: { backlogUs: 0n, atMs: 0 }, images: { backlogUs: 0n, atMs: 0 } },
  };
}

async function expectOverrun(model: Reference, harness: LedgerHarness): Promise<void> {
  const row = await harness.store.db
    .selectFrom('account')
    .select('balance')
    .where('id', '=', OVERRUN_ACCOUNT)
    .executeTakeFirstOrThrow();
  expect(BigInt(row.balance)).toBe(model.overrun);
}
