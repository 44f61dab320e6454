import { sql, type Kysely } from 'kysely';
import { receiptOf, receiptView } from '../ledger/receipt.ts';
import type { AccountRow, Schema } from '../store/schema.ts';
import { accountLines, dollars, time, type AccountLine } from './export-account.ts';
import type { Reader } from './reader.ts';
import { tagsOf } from './request-tags.ts';
import type { RefusedCallRow } from './refused-calls.ts';

type Parts = { readonly db: Kysely<Schema>; readonly reader: Reader };

/** So many rows are in memory at a time. */
const PAGE = 500;

/**
 * Everything that is kept about an account, for its owner: one JSON object per line, each with a `type`, oldest first. The
 * last line says how many came before it, so that a file that was cut off can be recognised. No secret is among them.
 */
export async function* accountExport(parts: Parts, account: AccountRow): AsyncGenerator<string> {
  let lines = 0;
  const sections = [
    once(await accountLines(parts.db, account)),
    entryPages(parts, account.id),
    paymentPages(parts, account.id),
    receiptPages(parts, account.id),
    usagePages(parts, account.id),
    clientPages(parts, account.id),
    statementPages(parts, account.id),
    imagePages(parts, account.id),
    refusedCallPages(parts, account.id),
  ];
  for (const section of sections) {
    for await (const page of section) {
      if (page.length === 0) continue;
      lines += page.length;
      yield page.map((line) => `${JSON.stringify(line)}\n`).join('');
    }
  }
  yield `${JSON.stringify({ type: 'end', lines })}\n`;
}

async function* once(lines: readonly AccountLine[]): AsyncGenerator<readonly AccountLine[]> {
  yield await Promise.resolve(lines);
}

async function* entryPages({ db, reader }: Parts, accountId: string): AsyncGenerator<readonly AccountLine[]> {
  let after = { at: -1, id: 0 };
  for (;;) {
    const rows = await reader.all(
      db
        .selectFrom('entry')
        .selectAll()
        .where('account_id', '=', accountId)
        .where(sql<boolean>`(created_at, id) > (${after.at}, ${after.id})`)
        .orderBy('created_at')
        .orderBy('id')
        .limit(PAGE),
    );
    yield rows.map(({ id, kind, amount, request_id, cause, created_at }) => ({
      type: 'entry',
      id,
      kind,
      amount_usd: dollars(amount),
      request_id,
      cause,
      created_at: time(created_at),
    }));
    const last = rows.at(-1);
    if (rows.length < PAGE || !last) return;
    after = { at: last.created_at, id: last.id };
  }
}

async function* paymentPages(
  { db, reader }: Parts,
  accountId: string,
): AsyncGenerator<readonly AccountLine[]> {
  let after = { at: -1, id: '' };
  for (;;) {
    const rows = await reader.all(
      db
        .selectFrom('payment')
        .select(['id', 'kind', 'state', 'amount', 'reason', 'intent_id', 'created_at', 'finished_at'])
        .where('account_id', '=', accountId)
        .where(sql<boolean>`(created_at, id) > (${after.at}, ${after.id})`)
        .orderBy('created_at')
        .orderBy('id')
        .limit(PAGE),
    );
    yield rows.map(({ amount, created_at, finished_at, ...payment }) => ({
      type: 'payment',
      ...payment,
      amount_usd: dollars(amount),
      created_at: time(created_at),
      finished_at: finished_at === null ? null : time(finished_at),
    }));
    const last = rows.at(-1);
    if (rows.length < PAGE || !last) return;
    after = { at: last.created_at, id: last.id };
  }
}

async function* receiptPages(
  { db, reader }: Parts,
  accountId: string,
): AsyncGenerator<readonly AccountLine[]> {
  for (let after = ''; ;) {
    const rows = await reader.all(
      db
        .selectFrom('closed_request')
        .selectAll()
        .where('account_id', '=', accountId)
        .where('id', '>', after)
        .orderBy('id')
        .limit(PAGE),
    );
    const tags = await tagsOf(reader, db, { accountId, ids: rows.map(({ id }) => id) });
    yield rows.map((row) => {
      const receipt = { ...receiptView(receiptOf(row)), client: row.client };
      return { type: 'receipt', ...receipt, tags: tags.get(row.id) };
    });
    const last = rows.at(-1);
    if (rows.length < PAGE || !last) return;
    after = last.id;
  }
}

async function* usagePages({ db, reader }: Parts, accountId: string): AsyncGenerator<readonly AccountLine[]> {
  let after = { day: 0, endpoint: '', model: '' };
  for (;;) {
    const rows = await reader.all(
      db
        .selectFrom('usage_day')
        .selectAll()
        .where('account_id', '=', accountId)
        .where(sql<boolean>`(day, endpoint, model) > (${after.day}, ${after.endpoint}, ${after.model})`)
        .orderBy('day')
        .orderBy('endpoint')
        .orderBy('model')
        .limit(PAGE),
    );
    yield rows.map(({ charged, ...usage }) => ({
      type: 'usage_day',
      ...usage,
      charged_usd: dollars(charged),
    }));
    const last = rows.at(-1);
    if (rows.length < PAGE || !last) return;
    after = last;
  }
}

async function* clientPages(
  { db, reader }: Parts,
  accountId: string,
): AsyncGenerator<readonly AccountLine[]> {
  let after = { day: 0, client: '' };
  for (;;) {
    const rows = await reader.all(
      db
        .selectFrom('usage_client')
        .selectAll()
        .where('account_id', '=', accountId)
        .where(sql<boolean>`(day, client) > (${after.day}, ${after.client})`)
        .orderBy('day')
        .orderBy('client')
        .limit(PAGE),
    );
    yield rows.map(({ charged, saved: _derived, ...usage }) => ({
      type: 'usage_client',
      ...usage,
      charged_usd: dollars(charged),
    }));
    const last = rows.at(-1);
    if (rows.length < PAGE || !last) return;
    after = last;
  }
}

async function* statementPages(
  { db, reader }: Parts,
  accountId: string,
): AsyncGenerator<readonly AccountLine[]> {
  for (let after = 0; ;) {
    const rows = await reader.all(
      db
        .selectFrom('statement')
        .selectAll()
        .where('account_id', '=', accountId)
        .where('month', '>', after)
        .orderBy('month')
        .limit(PAGE),
    );
    yield rows.map(({ number, month, opening, closing, issued_at, content }) => ({
      type: 'statement',
      number,
      month,
      opening_usd: dollars(opening),
      closing_usd: dollars(closing),
      issued_at: time(issued_at),
      content: JSON.parse(content) as unknown,
    }));
    const last = rows.at(-1);
    if (rows.length < PAGE || !last) return;
    after = last.month;
  }
}

async function* imagePages({ db, reader }: Parts, accountId: string): AsyncGenerator<readonly AccountLine[]> {
  let after = { at: -1, id: '' };
  for (;;) {
    const rows = await reader.all(
      db
        .selectFrom('image')
        .select(['id', 'request_id', 'mime', 'size', 'prompt', 'created_at', 'expires_at'])
        .where('account_id', '=', accountId)
        .where(sql<boolean>`(created_at, id) > (${after.at}, ${after.id})`)
        .orderBy('created_at')
        .orderBy('id')
        .limit(PAGE),
    );
    yield rows.map(({ created_at, expires_at, ...image }) => ({
      type: 'image',
      ...image,
      created_at: time(created_at),
      expires_at: time(expires_at),
    }));
    const last = rows.at(-1);
    if (rows.length < PAGE || !last) return;
    after = { at: last.created_at, id: last.id };
  }
}

function refusedCallLine(row: RefusedCallRow): AccountLine {
  const { request_id, operation, endpoint, model, client, status, reason, param, message, calls } = row;
  const first = { first_at: time(row.first_at), last_at: time(row.last_at), calls };
  return {
    type: 'refused_call',
    ...first,
    request_id,
    operation,
    endpoint,
    model,
    client,
    status,
    reason,
    param,
    message,
  };
}

async function* refusedCallPages(
  { db, reader }: Parts,
  accountId: string,
): AsyncGenerator<readonly AccountLine[]> {
  for (let after = ''; ;) {
    const rows = await reader.all(
      db
        .selectFrom('refused_call')
        .selectAll()
        .where('account_id', '=', accountId)
        .where('id', '>', after)
        .orderBy('id')
        .limit(PAGE),
    );
    yield rows.map(refusedCallLine);
    const last = rows.at(-1);
    if (rows.length < PAGE || !last) return;
    after = last.id;
  }
}
