import { readConfig } from '../../src/main/config.ts';
import type { Verification } from '../../src/ledger/port.ts';
import { systemClock } from '../../src/std/clock.ts';
import type { AccountId } from '../../src/std/ids.ts';
import { silentLog } from '../../src/std/log.ts';
import { nanoUsd, parseUsd } from '../../src/std/money.ts';
import { closeServices, openServices, type Services } from '../../src/main/services.ts';
import { eventually } from './node-process.ts';
import type { TestAccount } from './gateway.ts';

/** The operator beside running nodes: makes accounts on their store and reads their books, as the CLI does. */
export class Operator {
  readonly services: Services;
  /** Every token it made. */
  readonly tokens: string[] = [];
  #accounts = 0;

  private constructor(services: Services) {
    this.services = services;
  }

  static async open(env: Readonly<Record<string, string>>): Promise<Operator> {
    // Nobody waits for it: a busy machine, or the short deadline of a node, is no reason to give up.
    const patient = { ...env, TOLLGATE_DATABASE_DEADLINE_MS: '30000' };
    return new Operator(await openServices(readConfig(patient), silentLog, systemClock));
  }

  async close(): Promise<void> {
    await closeServices(this.services);
  }

  /** An account with dollars on it, and with limits wide enough not to be in the way. */
  async account(
    usd: string,
    limits: { chat?: number; images?: number; concurrent?: number } = {},
  ): Promise<TestAccount> {
    const email = `user${++this.#accounts}-${crypto.randomUUID()}@example.com`;
    const { accounts } = this.services;
    const { account, token } = await accounts.create(email, {
      balance: parseUsd(usd) ?? nanoUsd(0),
      actor: 'test',
    });
    const id = account.id as AccountId;
    await accounts.setLimits(id, {
      chatPerMinute: limits.chat ?? 1_000_000,
      imagesPerMinute: limits.images ?? 1_000_000,
      concurrent: limits.concurrent ?? 100_000,
    });
    this.tokens.push(token);
    return { id, email, token };
  }

  async replaceToken(account: TestAccount): Promise<string> {
    const token = await this.services.accounts.replaceToken(account.id);
    this.tokens.push(token);
    return token;
  }

  async money(account: TestAccount): Promise<{ balance: number; held: number; open: number }> {
    const { balance, held, open_holds: open } = await this.services.accounts.get(account.id);
    return { balance, held, open };
  }

  async requests(account: TestAccount) {
    return await this.services.store.db
      .selectFrom('request')
      .selectAll()
      .where('account_id', '=', account.id)
      .orderBy('id')
      .execute();
  }

  /** Charges in the books, by request. */
  async charges(account: TestAccount): Promise<Map<string, number[]>> {
    const rows = await this.services.store.db
      .selectFrom('request')
      .select(['id', 'charged'])
      .where('account_id', '=', account.id)
      .where('state', 'in', ['posted', 'expired'])
      .execute();
    const found = new Map<string, number[]>();
    for (const { id, charged } of rows) found.set(id, [...(found.get(id) ?? []), charged]);
    return found;
  }

  async pending(): Promise<number> {
    const { count } = await this.services.store.db
      .selectFrom('request')
      .select((fields) => fields.fn.countAll<number>().as('count'))
      .where('state', '=', 'pending')
      .executeTakeFirstOrThrow();
    return count;
  }

  /** Resolves once no hold is open anywhere. */
  async settled(withinMs = 30_000): Promise<void> {
    await eventually('every hold is closed', async () => (await this.pending()) === 0, withinMs);
  }

  async verify(): Promise<Verification> {
    return await this.services.ledger.ledger.verify();
  }
}
