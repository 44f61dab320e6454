import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tablesOf } from '../../../test/support/dump.ts';
import { testPostgres } from '../../../test/support/postgres.ts';
import { chatAdmission, used } from '../../ledger/testing/contract-harness.ts';
import { readConfig } from '../../main/config.ts';
import { closeServices, openServices, type Services } from '../../main/services.ts';
import { systemClock } from '../../std/clock.ts';
import type { AccountId, TokenHash } from '../../std/ids.ts';
import { silentLog } from '../../std/log.ts';
import { nanoUsd } from '../../std/money.ts';
import type { Account } from './accounts.ts';
import { removeAccount } from './removal.ts';

/** A person who leaves for good: nothing tells who they were, and a team keeps what was used of its balance. */

describe.each(['SQLite', 'Postgres'])('on %s', (database) => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-removal-'));
  let services: Services;
  let databaseUrl: string | undefined;
  beforeAll(async () => {
    databaseUrl = database === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    const env = {
      TOLLGATE_DATA: folder,
      DATABASE_URL: databaseUrl ?? '',
      TOLLGATE_SECRET: 'a secret of this test',
    };
    services = await openServices(readConfig(env), silentLog, systemClock);
    await services.accounts.create('admin@example.com', { role: 'admin', actor: 'test' });
  }, 60_000);
  afterAll(async () => {
    const { breaches } = await services.ledger.ledger.verify({ full: true });
    await closeServices(services);
    rmSync(folder, { recursive: true });
    expect(breaches).toEqual([]);
  });

  async function person(name: string): Promise<Account> {
    const { account } = await services.accounts.create(`${name}@example.com`, {
      balance: nanoUsd(50_000),
      actor: 'test',
    });
    return account;
  }

  async function remove({ id }: Pick<Account, 'id'>): Promise<unknown> {
    const { store, ledger, images } = services;
    return await removeAccount(
      { store, ledger: ledger.ledger, clock: systemClock, images },
      { accountId: id, reason: 'asked for', actor: 'test' },
    );
  }

  test('a member is removed: the address is nowhere, and their receipts stay with the team', async () => {
    const { teams, ledger, store } = services;
    const [owner, leaving] = [await person('keeps'), await person('wanders-off')];
    const moved = nanoUsd(20_000);
    const team = await teams.create('crew', leaving, { moved, actor: 'test' });
    const member = await teams.membership(leaving.id);
    await teams.add(team.id, owner, { role: 'owner' });
    const caller = { id: (member?.id ?? '') as AccountId, hash: '' as TokenHash };
    const request = chatAdmission(caller, { caller: { kind: 'account', id: caller.id } });
    expect(await ledger.ledger.admit(request)).toMatchObject({ kind: 'admitted' });
    expect(await remove(leaving).catch((thrown: unknown) => thrown)).toMatchObject({
      message: expect.stringContaining('still running'),
    });
    await ledger.ledger.settle(request.requestId, used({ input: 100, output: 1_000 }));

    await remove(leaving);
    const tables = await tablesOf(folder, databaseUrl);
    expect(tables.get('account')).toContain('keeps@example.com');
    expect([...tables].filter(([, text]) => text.includes('wanders-off')).map(([name]) => name)).toEqual([]);
    const receipt = store.db.selectFrom('receipt').select(['account_id', 'charged']);
    expect(await receipt.where('id', '=', request.requestId).execute()).toEqual([
      { account_id: caller.id, charged: 2_100 },
    ]);
    const rows = store.db.selectFrom('account').select(['wallet_id', 'person_id', 'token_hash', 'name']);
    expect(await rows.where('id', '=', caller.id).executeTakeFirst()).toEqual({
      wallet_id: team.id,
      person_id: null,
      token_hash: null,
      name: null,
    });
    expect(await services.accounts.get(team.id as AccountId)).toMatchObject({ balance: 20_000 - 2_100 });
  });

  test('the last owner of a team is not removed, and the answer says what to do', async () => {
    const { teams } = services;
    const owner = await person('alone');
    const team = await teams.create('small crew', owner, { actor: 'test' });
    expect(await remove(owner).catch((thrown: unknown) => thrown)).toMatchObject({
      code: 'conflict',
      message: 'A team needs an owner. Make another member one first, or close the team.',
    });
    expect(await services.accounts.get(owner.id as AccountId)).toMatchObject({
      email: 'alone@example.com',
      status: 'active',
    });
    await teams.close(team, 'test');
    await remove(owner);
    const tables = await tablesOf(folder, databaseUrl);
    expect([...tables].filter(([, text]) => text.includes('alone@')).map(([name]) => name)).toEqual([]);
  });
});
