import { z } from 'zod';
import { requestById, wasArchived } from '../../activity/request-log.ts';
import { accountState } from '../../activity/audit.ts';
import { accountNamed, emailsOf } from '../../activity/accounts.ts';
import { occurring } from '../../activity/list-values.ts';
import { Fault } from '../../std/fault.ts';
import type { Operator } from '../../identity/accounts/operators.ts';
import type { NewEntry } from '../../ledger/port.ts';
import type { AccountId } from '../../std/ids.ts';
import { readUsd, usd } from '../amounts.ts';
import { entryFields, entryOf, findLines, listValues, type Entry, type ListValues } from '../billing.ts';
import type { SearchedPage } from '../contract.ts';
import { requireAccount } from '../overview.ts';
import type { RouteParts } from '../parts.ts';
import { recentOf } from '../recent-answers.ts';
import { route } from '../route.ts';

const bodySchema = z.strictObject({
  amountUsd: z.string().max(31),
  cause: z.string().trim().min(1).max(200),
  /** A refund may name the request it is for. */
  requestId: z.string().max(64).optional(),
});

/** Credits, refunds and adjustments by an admin. Each has a cause and an actor, and counts once for its key. */
export const moneyRoutes = [
  route('POST /api/console/admin/accounts/{id}/credit', {
    who: 'operator',
    may: 'give_money',
    summary: 'Credit an account or team',
    money: true,
    confirmed: true,
    audit: 'account.credit',
    state: accountState,
    body: bodySchema,
    handle: (parts, call) => post(parts, call, { kind: 'credit', amount: positive(call.body.amountUsd) }),
  }),
  route('POST /api/console/admin/accounts/{id}/refund', {
    who: 'operator',
    may: 'give_money',
    summary: 'Refund an account or team',
    money: true,
    confirmed: true,
    audit: 'account.refund',
    state: accountState,
    body: bodySchema,
    async handle(parts, call) {
      const { amountUsd, requestId } = call.body;
      const amount = positive(amountUsd);
      const refunded =
        requestId === undefined ? {} : await refundOf(parts, call.params.id, requestId, amount);
      return post(parts, call, { kind: 'refund', amount, ...refunded });
    },
  }),
  route('POST /api/console/admin/accounts/{id}/adjust', {
    who: 'operator',
    may: 'adjust_money',
    summary: 'Adjust a balance',
    money: true,
    confirmed: true,
    audit: 'account.adjust',
    state: accountState,
    body: bodySchema,
    handle: (parts, call) => post(parts, call, { kind: 'adjustment', amount: signed(call.body.amountUsd) }),
  }),
  route('GET /api/console/admin/entries', {
    who: 'operator',
    may: 'see_customers',
    summary: 'List what was booked',
    compressed: true,
    /** `account`: an id or an email address. */
    query: z.strictObject({
      ...entryFields,
      account: z.string().max(320).optional(),
    }),
    async handle(parts, { query }): Promise<SearchedPage<AdminEntry>> {
      const { db } = parts.store;
      const { account, kind = 'money', ...asked } = query;
      const { lines, ...page } = await findLines(
        parts,
        { ...asked, kind },
        {
          accountId: account ? await accountNamed(db, account) : undefined,
          search: query.search === undefined ? undefined : { text: query.search, isOperator: true },
        },
      );
      const emails = await emailsOf(
        db,
        lines.flatMap((line) => [line.account_id, line.actor]),
      );
      const items = lines.map((line) => ({
        ...entryOf(line),
        accountId: line.account_id,
        email: emails.get(line.account_id) ?? '',
        actor: emails.get(line.actor) ?? line.actor,
      }));
      return { ...page, items };
    },
  }),
  /** What the filters of the operator's lists offer. */
  route('GET /api/console/admin/list-values', {
    who: 'operator',
    may: 'see_customers',
    summary: 'List what filters can have',
    compressed: true,
    handle: ({ store, reader, clock }): Promise<AdminListValues> =>
      recentOf(store).get('lists', clock.now(), async () => {
        const parts = { db: store.db, reader: reader.sums };
        const [own, auditActions, messageTopics, paymentEvents] = await Promise.all([
          listValues(parts, undefined),
          occurring(parts, 'audit', 'action'),
          occurring(parts, 'outbox', 'topic'),
          occurring(parts, 'payment_problem', 'event_type'),
        ]);
        return { ...own, auditActions, messageTopics, paymentEvents };
      }),
  }),
];

interface AdminEntry extends Entry {
  accountId: string;
  email: string;
  /** An email address, where the account has one. */
  actor: string;
}

/** What the filters of the operator's lists offer: whatever occurs in them. */
interface AdminListValues extends ListValues {
  auditActions: string[];
  messageTopics: string[];
  paymentEvents: string[];
}

interface MoneyCall {
  readonly params: { readonly id: string };
  readonly operator: Operator;
  readonly once: string;
  readonly body: z.output<typeof bodySchema>;
}

/** Of a team's account it is the team's money. What somebody with a limit gives is counted before it is booked. */
async function post(
  parts: RouteParts,
  { params, operator, once: key, body }: MoneyCall,
  entry: Pick<NewEntry, 'kind' | 'amount' | 'once' | 'requestId'>,
) {
  const { id, wallet_id } = await requireAccount(parts, params.id);
  const accountId = (wallet_id ?? id) as AccountId;
  const { once = key, ...rest } = entry;
  if (entry.kind !== 'adjustment')
    await parts.operators.countGiven(operator, { once, walletOf: accountId, amount: entry.amount });
  try {
    const booking = { accountId, actor: operator.id, cause: body.cause, once, ...rest };
    const { entryId, balance } = await parts.ledger.post(booking);
    return { entryId, balanceUsd: usd(balance) };
  } catch (error) {
    if (error instanceof Fault && error.code === 'invalid_field') await parts.operators.notGiven(once);
    throw error;
  }
}

function positive(amountUsd: string): number {
  const amount = readUsd(amountUsd, 'amountUsd');
  if (amount === 0)
    throw new Fault('invalid_field', 'The amount must be above zero.', { param: 'amountUsd' });
  return amount;
}

function signed(amountUsd: string): number {
  return amountUsd.startsWith('-') ? -positive(amountUsd.slice(1)) : positive(amountUsd);
}

/** A request is refunded once, and never more than it was charged. */
async function refundOf(parts: RouteParts, accountId: string, requestId: string, amount: number) {
  const request = await requestById(parts.store.db, requestId, accountId);
  if (!request) throw await noSuchRequest(parts, accountId, requestId);
  if (amount > request.charged) {
    throw new Fault('invalid_field', `This request was charged ${usd(request.charged)}.`, {
      param: 'amountUsd',
    });
  }
  return { requestId, once: `refund:${requestId}` };
}

async function noSuchRequest({ store }: RouteParts, accountId: string, requestId: string): Promise<Fault> {
  if (!(await wasArchived(store.db, requestId, accountId)))
    return new Fault('not_found', 'This account has no such request.');
  return new Fault(
    'invalid_field',
    'The receipts of that day are no longer kept, so a refund cannot name this request. Refund without naming it.',
    { param: 'requestId' },
  );
}
