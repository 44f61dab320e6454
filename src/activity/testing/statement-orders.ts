import type { Kysely } from 'kysely';
import type { Schema } from '../../store/schema.ts';
import type { StatementOrder } from '../monthly-statement.ts';

const ISSUER = { name: 'Example Ltd', address: 'Street 1\n10115 Berlin', taxId: 'DE123456789' };
export const ACCOUNTS = ['acc_a', 'acc_b', 'acc_c', 'acc_d'];
export const MONTHS = [202001, 202002, 202003, 202004, 202005, 202006];
const NOW = Date.UTC(2020, 8, 1);

/** Every statement that {@link fillMonths} made books for. */
export function orders(): StatementOrder[] {
  return MONTHS.flatMap((month) => ACCOUNTS.map((accountId) => orderOf(accountId, month)));
}

export function orderOf(accountId: string, month: number): StatementOrder {
  return { accountId, month, issuer: ISSUER, now: NOW };
}

/** Credits and charges of several months, whose balances end as the books say. */
export async function fillMonths(db: Kysely<Schema>): Promise<void> {
  for (const [index, id] of ACCOUNTS.entries()) {
    const created_at = Date.UTC(2020, 0, 1);
    const credit = 1_000_000_007 + index;
    const charge = 3_000_001 + index;
    const balance = MONTHS.length * (credit - charge);
    await db
      .insertInto('account')
      .values({ id, email: `${id}@example.com`, balance, created_at })
      .execute();
    for (const month of MONTHS) {
      const at = Date.UTC(2020, (month % 100) - 1, 15);
      const entry = { account_id: id, kind: 'credit', amount: credit, cause: 'test', actor: 'test' } as const;
      await db
        .insertInto('entry')
        .values({ ...entry, created_at: at })
        .execute();
      const day = { account_id: id, day: month * 100 + 20, endpoint: 'svc_chat', model: 'm' };
      await db
        .insertInto('usage_day')
        .values({ ...day, requests: 3, charged: charge })
        .execute();
    }
  }
}
