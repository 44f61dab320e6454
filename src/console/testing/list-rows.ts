import { bulkWriter } from '../../../scripts/seed/bulk.ts';
import { newOutboxId } from '../../std/ids.ts';
import type { Store } from '../../store/store.ts';

export type ListRow = Readonly<Record<string, string | number | null>>;

export const NOW = Date.UTC(2030, 4, 15, 12);
const AUDIT = 1_100;
const ROWS = 260;
/** Texts with a meaning in LIKE, in SQL and in JSON, among plain ones. */
const TEXTS = ['Bank transfer', '100% sure', 'a_b', "O'Brien", 'back\\slash', 'say "hi"', 'Überweisung', 'x'];

const TABLES = [
  'account', 'auth_user', 'audit', 'refused_call', 'payment', 'payment_reversal', 'payment_problem', 'outbox', 'webhook',
  'redeem_code', 'invite',
] as const; // prettier-ignore
export type SeededLists = Readonly<Record<(typeof TABLES)[number], readonly ListRow[]>>;

/** What is in the tables now, as it is. */
export async function readLists(
  store: Store,
  tables: readonly (typeof TABLES)[number][] = TABLES,
): Promise<SeededLists> {
  const read = tables.map(
    async (table) => [table, await store.db.selectFrom(table).selectAll().execute()] as const,
  );
  return Object.fromEntries(await Promise.all(read)) as unknown as SeededLists;
}

/** Rows for every list, many of them of one moment; names sort alike in every language. */
export async function seedLists(store: Store): Promise<SeededLists> {
  for (const name of ['acc_a-user', 'acc_b-user']) await addUser(store, name);
  const write = bulkWriter(store);
  await write.insert('account', rows(ROWS, listedAccountRow));
  await write.insert('audit', rows(AUDIT, auditRow));
  await write.insert('refused_call', rows(ROWS, refusedRow));
  await write.insert('payment', rows(ROWS, paymentRow));
  await write.insert('payment_reversal', rows(ROWS, reversalRow));
  await write.insert('payment_problem', rows(ROWS, problemRow));
  await write.insert('webhook', rows(9, webhookRow));
  await write.insert('outbox', rows(ROWS, messageRow));
  await write.insert('redeem_code', rows(ROWS, codeRow));
  await write.insert('invite', rows(ROWS, inviteRow));
  await write.finish();
  return await readLists(store);
}

async function addUser(store: Store, id: string): Promise<void> {
  const email = `${id}@example.com`;
  await store.db.insertInto('account').values({ id, email, created_at: NOW }).execute();
  const at = new Date(NOW).toISOString();
  await store.db
    .insertInto('auth_user')
    .values({ id, email, name: 'Grace Hopper', emailVerified: 1, createdAt: at, updatedAt: at } as never)
    .execute();
}

function rows<Row>(count: number, row: (index: number) => Row): Row[] {
  return Array.from({ length: count }, (_, index) => row(index));
}

const one = <Item>(items: readonly Item[], index: number): Item => items[index % items.length] as Item;
const padded = (index: number): string => String(index).padStart(5, '0');
/** Four rows share a moment. */
const timeAt = (index: number): number => NOW - Math.floor(index / 4) * 10_000;
export const accountIdAt = (index: number): string => `acc_${padded((index * 37) % ROWS)}`;

export function listedAccountRow(index: number) {
  return {
    id: `acc_${padded(index)}`,
    email: `${one(['ann', 'ben', 'cyd'], index)}-${padded(index)}@example.com`,
    role: index % 17 === 0 ? ('admin' as const) : ('user' as const),
    status: index % 5 === 0 ? ('disabled' as const) : ('active' as const),
    token_hint: index % 3 === 0 ? `sk-…${padded(index).slice(1)}` : null,
    balance: ((index * 7_919) % 40) * 1_000_000_000,
    month: index % 2 === 0 ? 203_005 : 203_004,
    month_spent: ((index * 31) % 23) * 1_000,
    created_at: timeAt(index),
  };
}

export function auditRow(index: number) {
  return {
    at: NOW - (AUDIT - index) * 1_000,
    actor: index % 9 === 0 ? 'cli' : accountIdAt(index),
    action: one(['account.credit', 'catalog.save', 'codes.make'], index),
    target: index % 4 === 0 ? accountIdAt(index + 1) : '',
    detail: JSON.stringify({ cause: one(TEXTS, index) }),
  };
}

export function refusedRow(index: number) {
  return {
    account_id: accountIdAt(index),
    // Two accounts may have a row of the same id and moment.
    id: `row-${padded(index - (index % 2))}`,
    first_at: timeAt(index),
    last_at: timeAt(index),
    calls: (index * 13) % 50,
    left_out: 0,
    request_id: `req_${padded(index)}`,
    operation: '/v1/chat/completions',
    endpoint: one(['svc_chat', 'svc_images'], index),
    model: one(['house-guide', 'house-echo', 'gpt-5'], index),
    client: one(['OpenAI/Python 2.1', 'curl/8', "it's mine"], index),
    status: 402,
    reason: one(['limit_reached', 'invalid_field'], index),
    param: index % 6 === 0 ? 'temperature' : null,
    message: one([null, ...TEXTS], index),
  };
}

export function paymentRow(index: number) {
  return {
    id: `pay_${padded(index)}`,
    account_id: accountIdAt(index),
    kind: one(['top_up', 'automatic', 'top_up', 'card'] as const, index),
    state: one(['paid', 'open', 'failed'] as const, index),
    amount: ((index * 17) % 11) * 5_000_000_000,
    session_id: index % 2 === 0 ? `cs_${padded(index)}` : null,
    intent_id: index % 3 === 0 ? `pi_${padded(index)}` : null,
    reason: index % 3 === 2 ? one(['card_declined', 'expired'], index) : null,
    created_at: timeAt(index),
  };
}

export function reversalRow(index: number) {
  return {
    id: `re_${padded(index)}`,
    kind: one(['refund', 'dispute'] as const, index),
    intent_id: `pi_${padded(index)}`,
    account_id: index % 7 === 0 ? null : accountIdAt(index),
    amount: 1 + ((index * 17) % 11),
    stage: 1,
    taken: (index * 5) % 7,
    lost: (index * 3) % 5,
    created_at: timeAt(index),
    booked_at: index % 8 === 0 ? null : timeAt(index),
  };
}

export function problemRow(index: number) {
  return {
    event_id: `evt_${padded(index)}`,
    event_type: one(['charge.refunded', 'checkout.session.completed'], index),
    object_id: `ch_${padded(index)}`,
    account_id: index % 5 === 0 ? null : accountIdAt(index),
    reason: one(TEXTS, index),
    created_at: timeAt(index),
  };
}

function webhookRow(index: number) {
  return {
    id: `wh_${index}`,
    account_id: accountIdAt(index),
    url: `https://hooks-${index}.example.com/in`,
    events: '[]',
    sealed: '',
    hint: '…',
    created_at: NOW,
  };
}

export function messageRow(index: number) {
  const at = timeAt(index);
  const isMail = index % 3 !== 0;
  return {
    id: newOutboxId(at),
    kind: isMail ? ('mail' as const) : ('webhook' as const),
    topic: one(['balance.low', 'token.replaced', 'mail.test'], index),
    account_id: accountIdAt(index),
    destination: isMail ? `to-${padded(index)}@example.com` : `wh_${index % 12}`,
    state: one(['sent', 'failed', 'waiting'] as const, Math.floor(index / 3)),
    attempts: index % 6,
    history: JSON.stringify([
      { at, ms: 5, status: null, error: one([null, 'connection refused', ...TEXTS], index) },
    ]),
    next_at: at,
    expires_at: at,
    created_at: at,
  };
}

export function codeRow(index: number) {
  const batch = Math.floor(index / 5);
  return {
    code_hash: `${padded((index * 101) % 9_973)}c0de`,
    hint: `…K${padded(index).slice(2)}`,
    batch: `${one(['spring', 'Summer', '100%', 'a_b'], batch)} ${padded(batch)}`,
    amount: 1 + (batch % 6),
    created_by: accountIdAt(batch),
    created_at: timeAt(batch),
    expires_at: batch % 4 === 0 ? NOW - 1 : null,
    redeemed_by: index % 3 === 0 ? accountIdAt(index) : null,
    redeemed_at: index % 3 === 0 ? NOW : null,
  };
}

export function inviteRow(index: number) {
  return {
    code_hash: `${padded((index * 101) % 9_973)}beef`,
    hint: `…I${padded(index).slice(2)}`,
    created_by: accountIdAt(index),
    created_at: timeAt(index),
    expires_at: null,
    used_by: index % 3 === 0 ? accountIdAt(index + 5) : null,
    used_at: index % 3 === 0 ? NOW + (index % 9) : null,
  };
}
