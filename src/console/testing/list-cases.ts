import { accountFilter, accountTable } from '../admin/accounts.ts';
import { AUDIT_TABLE, auditFilter } from '../admin/site.ts';
import { batchFilter, batchTable, INVITE_TABLE, inviteFilter } from '../admin/codes.ts';
import { MESSAGE_TABLE, messageFilter } from '../admin/messages.ts';
import { PROBLEM_TABLE, problemFilter, REVERSAL_TABLE, reversalFilter } from '../admin/payments.ts';
import { PAYMENT_TABLE, paymentFilter } from '../payments.ts';
import { REFUSED_CALL_TABLE, refusedCallFilter } from '../refused-calls.ts';
import type { ListedTable, TableFilter } from '../../activity/table-page.ts';
import {
  accountIdAt,
  listedAccountRow,
  auditRow,
  codeRow,
  inviteRow,
  messageRow,
  NOW,
  paymentRow,
  problemRow,
  refusedRow,
  reversalRow,
  type ListRow,
  type SeededLists,
} from './list-rows.ts';

type Filter = Readonly<Record<string, string | undefined>>;

/** A list, and what is known about it without asking it: an oracle in plain TypeScript. */
export interface ListCase {
  readonly title: string;
  /** Whose filters they are. */
  readonly route: string;
  readonly table: () => ListedTable;
  readonly filter: (filter: Filter) => TableFilter;
  /** All rows that the list may show. */
  readonly rows: (lists: SeededLists) => readonly ListRow[];
  readonly key: (row: ListRow) => string;
  /** The columns that order the list by time. */
  readonly mark: readonly string[];
  /** What it can be sorted by besides time. */
  readonly values: Readonly<Record<string, (row: ListRow, lists: SeededLists) => string | number>>;
  /** The fields that must be equal, by their name in the filter. */
  readonly fields: Readonly<Record<string, string>>;
  /** The texts that a search looks at. */
  readonly texts: (row: ListRow, lists: SeededLists) => readonly (string | number | null | undefined)[];
  readonly filters: readonly Filter[];
  /** What is written while somebody turns pages: another row, at this place among the seeded ones. */
  readonly added: {
    readonly table: keyof SeededLists;
    readonly row: (index: number) => Readonly<Record<string, string | number | null>>;
  };
}

const emails = new WeakMap<SeededLists, Map<string, string>>();

function emailOf(lists: SeededLists, id: ListRow[string] | undefined): string {
  let known = emails.get(lists);
  if (!known) {
    known = new Map(lists.account.map((row) => [String(row['id']), String(row['email'])]));
    emails.set(lists, known);
  }
  return known.get(String(id)) ?? '';
}

const picked = (row: ListRow, names: readonly string[]) => names.map((name) => row[name]);
const column = (name: string) => (row: ListRow) => row[name] ?? '';
const account = (row: ListRow, lists: SeededLists): string => emailOf(lists, row['account_id']);

export const LIST_CASES: readonly ListCase[] = [
  {
    title: 'accounts',
    route: 'GET /api/console/admin/accounts',
    table: () => accountTable(NOW),
    // Nobody here has a role smaller than an owner's.
    filter: ({ role, ...filter }) =>
      accountFilter({
        ...filter,
        ...(role !== undefined && { role: role === 'admin' ? 'operator' : 'user' }),
      }),
    rows: (lists) => lists.account.filter((row) => row['role'] !== 'system'),
    key: (row) => String(row['id']),
    mark: ['created_at', 'id'],
    values: {
      account: column('email'),
      balance: column('balance'),
      month: (row) => (row['month'] === 203_005 ? Number(row['month_spent']) : 0),
    },
    fields: { status: 'status', role: 'role' },
    texts: (row, lists) => [
      ...picked(row, ['id', 'email', 'token_hint']),
      lists.auth_user.find(({ id }) => id === row['id'])?.['name'],
    ],
    filters: [
      { status: 'disabled' },
      { role: 'admin' },
      { search: 'BEN-' },
      { search: 'acc_0001' },
      { search: 'hopper' },
      { search: 'sk-…00' },
      { search: 'cyd', status: 'active', role: 'user' },
    ],
    added: { table: 'account', row: listedAccountRow },
  },
  {
    title: 'the audit log',
    route: 'GET /api/console/admin/audit',
    table: () => AUDIT_TABLE,
    filter: auditFilter,
    rows: (lists) => lists.audit,
    key: (row) => String(row['id']),
    mark: ['id'],
    values: {
      actor: (row, lists) => emailOf(lists, row['actor']) || String(row['actor']),
      action: column('action'),
    },
    fields: { actor: 'actor', action: 'action' },
    texts: (row, lists) => [
      ...picked(row, ['action', 'actor', 'target', 'detail']),
      emailOf(lists, row['actor']),
      emailOf(lists, row['target']),
    ],
    filters: [
      { actor: 'cli' },
      { action: 'catalog.save' },
      { search: 'ann-00012@' },
      { search: '100%' },
      { search: 'catalog', actor: accountIdAt(3) },
    ],
    added: { table: 'audit', row: auditRow },
  },
  {
    title: 'refused calls',
    route: 'GET /api/console/admin/refused-calls',
    table: () => REFUSED_CALL_TABLE,
    filter: ({ accountId, reason, search }) => refusedCallFilter({ accountId, reason, search }),
    rows: (lists) => lists.refused_call,
    key: (row) => `${row['account_id']}/${row['id']}`,
    mark: ['last_at', 'id', 'account_id'],
    values: { calls: column('calls'), account },
    fields: { accountId: 'account_id', reason: 'reason' },
    texts: (row, lists) => [
      ...picked(row, ['request_id', 'client', 'model', 'endpoint', 'operation', 'reason', 'param', 'message', 'account_id']),
      account(row, lists),
    ], // prettier-ignore
    filters: [
      { reason: 'invalid_field' },
      { search: 'PYTHON' },
      { search: 'req_0001' },
      { search: 'temperature' },
      { search: "it's" },
      { search: 'ann-' },
      { accountId: accountIdAt(1) },
      { search: 'a_b', reason: 'invalid_field' },
    ],
    added: { table: 'refused_call', row: refusedRow },
  },
  {
    title: 'payments',
    route: 'GET /api/console/admin/payments',
    table: () => PAYMENT_TABLE,
    filter: paymentFilter,
    rows: (lists) => lists.payment.filter((row) => row['kind'] !== 'card'),
    key: (row) => String(row['id']),
    mark: ['created_at', 'id'],
    values: { amount: column('amount'), account },
    fields: { accountId: 'account_id', state: 'state', kind: 'kind' },
    texts: (row, lists) => [
      ...picked(row, ['id', 'reason', 'intent_id', 'session_id', 'account_id']),
      account(row, lists),
    ],
    filters: [
      { state: 'failed' },
      { kind: 'automatic' },
      { search: 'pi_0001' },
      { search: 'declined' },
      { search: 'ben-', state: 'paid' },
      { accountId: accountIdAt(2) },
    ],
    added: { table: 'payment', row: (index) => ({ ...paymentRow(index), kind: 'top_up', intent_id: null }) },
  },
  {
    title: 'refunds and disputes',
    route: 'GET /api/console/admin/payments/reversals',
    table: () => REVERSAL_TABLE,
    filter: reversalFilter,
    rows: (lists) => lists.payment_reversal.filter((row) => row['booked_at'] !== null),
    key: (row) => String(row['id']),
    mark: ['created_at', 'id'],
    values: { amount: column('amount'), taken: column('taken'), lost: column('lost'), account },
    fields: { kind: 'kind' },
    texts: (row, lists) => [...picked(row, ['id', 'intent_id', 'account_id']), account(row, lists)],
    filters: [{ kind: 'dispute' }, { search: 're_0001' }, { search: 'cyd-', kind: 'refund' }],
    added: { table: 'payment_reversal', row: (index) => ({ ...reversalRow(index), booked_at: NOW }) },
  },
  {
    title: 'refused payment events',
    route: 'GET /api/console/admin/payments/problems',
    table: () => PROBLEM_TABLE,
    filter: problemFilter,
    rows: (lists) => lists.payment_problem,
    key: (row) => String(row['event_id']),
    mark: ['created_at', 'event_id'],
    values: { account, event: column('event_type') },
    fields: { type: 'event_type' },
    texts: (row, lists) => [
      ...picked(row, ['event_id', 'event_type', 'object_id', 'account_id', 'reason']),
      account(row, lists),
    ],
    filters: [{ type: 'charge.refunded' }, { search: 'ch_0001' }, { search: "o'brien" }, { search: 'ann-' }],
    added: { table: 'payment_problem', row: problemRow },
  },
  {
    title: 'messages',
    route: 'GET /api/console/admin/messages',
    table: () => MESSAGE_TABLE,
    filter: messageFilter,
    rows: (lists) => lists.outbox,
    key: (row) => String(row['id']),
    mark: ['id'],
    values: {
      to: (row, lists) => urlOf(lists, row) ?? row['destination'] ?? '',
      attempts: column('attempts'),
      topic: column('topic'),
    },
    fields: { state: 'state', kind: 'kind', topic: 'topic' },
    texts: (row, lists) => [
      ...picked(row, ['id', 'topic', 'destination', 'history']),
      urlOf(lists, row),
      account(row, lists),
    ],
    filters: [
      { state: 'failed' },
      { kind: 'webhook' },
      { topic: 'mail.test' },
      { search: 'HOOKS-3' },
      { search: 'to-0001' },
      { search: 'connection refused' },
      { search: 'ben-', state: 'sent', kind: 'mail' },
    ],
    added: { table: 'outbox', row: messageRow },
  },
  {
    title: 'batches of codes',
    route: 'GET /api/console/admin/codes',
    table: () => batchTable(NOW),
    filter: batchFilter,
    rows: (lists) => batchesOf(lists.redeem_code),
    key: (row) => String(row['batch']),
    mark: ['created_at', 'mark'],
    values: {
      batch: (row) => String(row['batch']).toLowerCase(),
      amount: column('amount'),
      redeemed: column('redeemed'),
    },
    fields: { state: 'state' },
    texts: (row, lists) => [
      ...picked(row, ['batch']),
      emailOf(lists, row['created_by']),
      ...lists.redeem_code.flatMap((code) =>
        code['batch'] === row['batch'] ? [code['hint'], emailOf(lists, code['redeemed_by'])] : [],
      ),
    ],
    filters: [
      { state: 'open' },
      { state: 'over' },
      { search: 'summer' },
      { search: '100%' },
      { search: '…k01' },
      { search: 'ann-0000' },
    ],
    added: {
      table: 'redeem_code',
      row: (index) => ({ ...codeRow(index), batch: `late ${index}` }),
    },
  },
  {
    title: 'invites',
    route: 'GET /api/console/admin/invites',
    table: () => INVITE_TABLE,
    filter: inviteFilter,
    rows: (lists) =>
      lists.invite.map((row) => ({ ...row, state: row['used_at'] === null ? 'unused' : 'used' })),
    key: (row) => String(row['code_hash']),
    mark: ['created_at', 'code_hash'],
    values: { used: (row) => row['used_at'] ?? 0 },
    fields: { state: 'state' },
    texts: (row, lists) => [row['hint'], emailOf(lists, row['created_by']), emailOf(lists, row['used_by'])],
    filters: [{ state: 'used' }, { state: 'unused' }, { search: '…i01' }, { search: 'cyd-' }],
    added: { table: 'invite', row: inviteRow },
  },
];

function urlOf(lists: SeededLists, row: ListRow): string | undefined {
  return lists.webhook.find(({ id }) => id === row['destination'])?.['url'] as string | undefined;
}

function batchesOf(codes: readonly ListRow[]): ListRow[] {
  const names = [...new Set(codes.map((code) => code['batch']))];
  return names.map((batch) => {
    const own = codes.filter((code) => code['batch'] === batch);
    const isOpen = (code: ListRow): boolean =>
      code['redeemed_at'] === null && (code['expires_at'] === null || Number(code['expires_at']) > NOW);
    const [first] = own;
    return {
      batch: batch ?? '',
      amount: first?.['amount'] ?? 0,
      created_by: first?.['created_by'] ?? '',
      created_at: first?.['created_at'] ?? 0,
      redeemed: own.filter((code) => code['redeemed_at'] !== null).length,
      state: own.some(isOpen) ? 'open' : 'over',
      mark: own.map((code) => String(code['code_hash'])).toSorted()[0] ?? '',
    };
  });
}
