import { sql, type Kysely, type Transaction } from 'kysely';
import { z } from 'zod';
import { monthOf } from '../std/calendar.ts';
import { Fault } from '../std/fault.ts';
import { plural } from '../std/plural.ts';
import { lockRow } from '../store/row-lock.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { emailsOf, spendersOf } from './accounts.ts';

const contentSchema = z.object({
  /** As the operator's settings were when it was issued. */
  issuer: z.object({
    name: z.string(),
    address: z.string(),
    taxId: z.string(),
    /** Names the picture that is kept under it. */
    logo: z.string().optional(),
  }),
  entries: z.array(
    z.object({ at: z.number(), kind: z.string(), cause: z.string(), amount: z.number().int() }),
  ),
  days: z.array(z.object({ day: z.number(), requests: z.number(), charged: z.number().int() })),
  models: z.array(
    z.object({ endpoint: z.string(), model: z.string(), requests: z.number(), charged: z.number().int() }),
  ),
  /** Of a team: what each of its accounts was charged on each day, which together is what `days` has. */
  accounts: z
    .array(
      z.object({
        id: z.string(),
        name: z.string(),
        day: z.number(),
        requests: z.number(),
        charged: z.number().int(),
      }),
    )
    .optional(),
});

type StatementContent = z.output<typeof contentSchema>;

/** Amounts are nano-USD. A request belongs to the day on which it was admitted, UTC. */
export interface MonthlyStatement extends StatementContent {
  readonly number: number;
  /** yyyymm. */
  readonly month: number;
  readonly issuedAt: number;
  readonly opening: number;
  readonly moved: number;
  readonly charged: number;
  readonly closing: number;
}

export interface StatementOrder {
  readonly accountId: string;
  readonly month: number;
  readonly issuer: StatementContent['issuer'];
  readonly now: number;
}

/** Clocks of nodes differ, and what was begun before midnight may commit after it. */
const SETTLED_MS = 3_600_000;
/** In a month of more entries they are listed by day. */
const MAX_ENTRIES = 2_000;

/**
 * The statement of a month that is over, issued now if it was not before: from then on it never changes. Refused while the
 * month is not over, or a request of it is still running.
 */
export async function issueStatement(store: Store, order: StatementOrder): Promise<MonthlyStatement> {
  const { accountId, month, now } = order;
  if (now < rangeOf(month).end + SETTLED_MS)
    throw refused('A statement can be made from one hour after the end of its month (UTC).');
  const before = await statementOf(store.db, accountId, month);
  if (before) return before;
  const issued = await store.db.transaction().execute((tx) => issue(tx, order));
  await store.durable();
  return issued;
}

async function statementOf(
  db: Kysely<Schema>,
  accountId: string,
  month: number,
): Promise<MonthlyStatement | undefined> {
  const row = await db
    .selectFrom('statement')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('month', '=', month)
    .executeTakeFirst();
  if (!row) return undefined;
  const { number, opening, moved, charged, closing, issued_at: issuedAt } = row;
  const content = contentSchema.parse(JSON.parse(row.content));
  return { number, month, issuedAt, opening, moved, charged, closing, ...content };
}

/** Numbers of the months (yyyymm) whose statements were issued. */
export async function issuedNumbers(db: Kysely<Schema>, accountId: string): Promise<Map<number, number>> {
  const rows = await db
    .selectFrom('statement')
    .select(['month', 'number'])
    .where('account_id', '=', accountId)
    .execute();
  return new Map(rows.map(({ month, number }) => [month, number]));
}

async function issue(tx: Transaction<Schema>, order: StatementOrder): Promise<MonthlyStatement> {
  const { accountId, month, issuer, now } = order;
  await lockRow(tx, 'statement_lock', now);
  const before = await statementOf(tx, accountId, month);
  if (before) return before;
  const range = rangeOf(month);
  const spenders = await spendersOf(tx, accountId);
  await refuseWhileRunning(tx, spenders, range);
  const opening = await balanceBefore(tx, { accountId, spenders }, range);
  const { moved, entries } = await entriesOf(tx, accountId, range);
  const usage = usageOf(tx, spenders, range);
  const days = (await usage.select('day').groupBy('day').orderBy('day').execute()).map(withNumbers);
  const byModel = usage.select(['endpoint', 'model']).groupBy(['endpoint', 'model']);
  const models = (await byModel.orderBy('endpoint').orderBy('model').execute()).map(withNumbers);
  const charged = days.reduce((sum, day) => sum + day.charged, 0);
  const amounts = { opening, moved, charged, closing: opening + moved - charged };
  const content = { issuer, entries, days, models, ...(await byAccount(tx, { accountId, spenders }, range)) };
  const { last } = await tx
    .selectFrom('statement')
    .select(sql<number | string>`coalesce(max(number), 0)`.as('last'))
    .executeTakeFirstOrThrow();
  const number = Number(last) + 1;
  const span = { month, starts_at: range.start, ends_at: range.end };
  const row = { number, account_id: accountId, ...span, ...amounts, issued_at: now };
  await tx
    .insertInto('statement')
    .values({ ...row, content: JSON.stringify(content) })
    .execute();
  return { number, month, issuedAt: now, ...amounts, ...content };
}

interface MonthRange {
  readonly start: number;
  readonly end: number;
  /** yyyymmdd, the first day of the month and of the next one. */
  readonly fromDay: number;
  readonly toDay: number;
}

function rangeOf(month: number): MonthRange {
  const [year, index] = [Math.floor(month / 100), (month % 100) - 1];
  const end = Date.UTC(year, index + 1);
  return { start: Date.UTC(year, index), end, fromDay: month * 100 + 1, toDay: monthOf(end) * 100 + 1 };
}

async function refuseWhileRunning(
  tx: Transaction<Schema>,
  spenders: readonly string[],
  { end }: MonthRange,
): Promise<void> {
  const running = await tx
    .selectFrom('hold')
    .select('id')
    .where('account_id', 'in', spenders)
    .where('created_at', '<', end)
    .limit(1)
    .executeTakeFirst();
  if (running) throw refused('A request of this month is still running. Try again when it is over.');
}

/** An entry of kind `charge` stands for receipts that have left, which are in the sums of their day all the same. */
function moneyOf(tx: Transaction<Schema>, accountId: string) {
  return tx.selectFrom('entry').where('account_id', '=', accountId).where('kind', '<>', 'charge');
}

interface PayerAndSpenders {
  readonly accountId: string;
  readonly spenders: readonly string[];
}

async function balanceBefore(
  tx: Transaction<Schema>,
  { accountId, spenders }: PayerAndSpenders,
  { start, fromDay }: MonthRange,
): Promise<number> {
  const money = await moneyOf(tx, accountId)
    .select(sql<number | string>`coalesce(sum(amount), 0)`.as('total'))
    .where('created_at', '<', start)
    .executeTakeFirstOrThrow();
  const usage = await tx
    .selectFrom('usage_day')
    .select(sql<number | string>`coalesce(sum(charged), 0)`.as('total'))
    .where('account_id', 'in', spenders)
    .where('day', '<', fromDay)
    .executeTakeFirstOrThrow();
  return Number(money.total) - Number(usage.total);
}

async function entriesOf(
  tx: Transaction<Schema>,
  accountId: string,
  { start, end }: MonthRange,
): Promise<{ moved: number; entries: StatementContent['entries'] }> {
  const ofMonth = moneyOf(tx, accountId).where('created_at', '>=', start).where('created_at', '<', end);
  const rows = await ofMonth
    .select(['created_at as at', 'kind', 'cause', 'amount'])
    .orderBy('created_at')
    .orderBy('id')
    .limit(MAX_ENTRIES + 1)
    .execute();
  const entries = rows.length <= MAX_ENTRIES ? rows : await byDay(ofMonth);
  return { moved: entries.reduce((sum, { amount }) => sum + amount, 0), entries };
}

async function byDay(ofMonth: ReturnType<typeof moneyOf>): Promise<StatementContent['entries']> {
  const rows = await ofMonth
    .select([
      'kind',
      sql<number | string>`created_at / 86400000`.as('epoch_day'),
      sql<number | string>`sum(amount)`.as('amount'),
      sql<number | string>`count(*)`.as('number'),
    ])
    .groupBy(['kind', sql`created_at / 86400000`])
    .orderBy(sql`created_at / 86400000`)
    .orderBy('kind')
    .execute();
  return rows.map(({ kind, epoch_day, amount, number }) => ({
    at: Number(epoch_day) * 86_400_000,
    kind,
    cause: plural(Number(number), 'entry', 'entries'),
    amount: Number(amount),
  }));
}

/** Nothing for a person, whose days are those of one account. */
async function byAccount(
  tx: Transaction<Schema>,
  { accountId, spenders }: PayerAndSpenders,
  range: MonthRange,
): Promise<Pick<StatementContent, 'accounts'>> {
  if (spenders.includes(accountId)) return {};
  const rows = await usageOf(tx, spenders, range)
    .select(['account_id as id', 'day'])
    .groupBy(['account_id', 'day'])
    .orderBy('day')
    .orderBy('account_id')
    .execute();
  const names = await emailsOf(
    tx,
    rows.map(({ id }) => id),
  );
  return { accounts: rows.map((row) => ({ ...withNumbers(row), name: names.get(row.id) ?? row.id })) };
}

function usageOf(tx: Transaction<Schema>, spenders: readonly string[], { fromDay, toDay }: MonthRange) {
  return tx
    .selectFrom('usage_day')
    .where('account_id', 'in', spenders)
    .where('day', '>=', fromDay)
    .where('day', '<', toDay)
    .select([sql<string>`sum(requests)`.as('requests'), sql<string>`sum(charged)`.as('charged')]);
}

/** Sums of whole numbers, which a database may send as text. */
function withNumbers<Row extends { requests: string; charged: string }>({ requests, charged, ...row }: Row) {
  return { ...row, requests: Number(requests), charged: Number(charged) };
}

function refused(message: string): Fault {
  return new Fault('invalid_field', message, { param: 'month' });
}
