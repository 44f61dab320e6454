import { z } from 'zod';
import { emailsOf } from '../../activity/accounts.ts';
import { Fault } from '../../std/fault.ts';
import { OPERATOR } from '../../outbox/events.ts';
import { emptyBody, route } from '../route.ts';
import { findRows, orderSchema, searchedPage, tableFields } from '../table-query.ts';
import {
  addWebhook,
  changeWebhook,
  listWebhooks,
  messageItem,
  newWebhookSchema,
  rotateWebhook,
  sendAtOnce,
  SENT_AT_ONCE,
  testWebhook,
  webhookPatchSchema,
} from '../webhooks.ts';
import { sql } from 'kysely';
import type { OutboxRow } from '../../store/schema-services.ts';
import {
  anyContains,
  emailIn,
  equals,
  numberColumn,
  textColumn,
  type ListedTable,
  type TableFilter,
} from '../../activity/table-page.ts';

/** Mail and webhooks with their attempts, the operator's own webhooks, and a test of each way. */
export const messageRoutes = [
  route('GET /api/console/admin/messages', {
    who: 'operator',
    may: 'see_customers',
    summary: 'List messages',
    compressed: true,
    query: z.strictObject({
      ...tableFields,
      sort: orderSchema(['time', 'topic', 'to', 'attempts']),
      state: z.enum(['waiting', 'sent', 'failed']).optional(),
      kind: z.enum(['mail', 'webhook']).optional(),
      topic: z.string().min(1).max(100).optional(),
    }),
    async handle(parts, { query }) {
      const page = await findRows<ListedMessage>(parts, MESSAGE_TABLE, messageFilter(query), query);
      const emails = await emailsOf(
        parts.store.db,
        page.rows.map((row) => row.account_id),
      );
      return searchedPage(page, (row) => adminMessage(row, emails));
    },
  }),
  /** How mail is sent; null: it is not. */
  route('GET /api/console/admin/mail', {
    who: 'operator',
    may: 'see_business',
    summary: 'Get how mail is sent',
    handle: ({ messages: { mail } }) => Promise.resolve({ mail: mail ?? null }),
  }),
  /** To the admin's own address; one attempt at once, whose result is the answer. */
  route('POST /api/console/admin/mail/test', {
    who: 'operator',
    may: 'change_settings',
    summary: 'Send a test mail to yourself',
    audit: 'mail.test',
    body: emptyBody,
    async handle({ auth, messages, store, clock }, { operator }) {
      if (!messages.mail) throw new Fault('conflict', 'Email is not configured: set TOLLGATE_SMTP_URL.');
      auth.throttle.act('webhook', operator.id);
      const mail = {
        accountId: operator.personId,
        template: 'mail.test',
        data: { at: clock.now() },
      } as const;
      const [messageId] = await messages.notices.mail(store.db, { ...mail, ...SENT_AT_ONCE });
      return await sendAtOnce(messages, messageId);
    },
  }),
  route('GET /api/console/admin/webhooks', {
    who: 'operator',
    may: 'see_business',
    summary: "List the operator's webhooks",
    handle: (parts) => listWebhooks(parts, OPERATOR),
  }),
  route('POST /api/console/admin/webhooks', {
    who: 'operator',
    may: 'change_settings',
    summary: 'Add a webhook',
    secret: true,
    audit: 'webhook.add',
    body: newWebhookSchema,
    handle: (parts, { body }) => addWebhook(parts, OPERATOR, body),
  }),
  route('PATCH /api/console/admin/webhooks/{id}', {
    who: 'operator',
    may: 'change_settings',
    summary: 'Change a webhook',
    audit: 'webhook.change',
    body: webhookPatchSchema,
    handle: (parts, { params, body }) => changeWebhook(parts, { owner: OPERATOR, id: params.id }, body),
  }),
  route('POST /api/console/admin/webhooks/{id}/rotate', {
    who: 'operator',
    may: 'change_settings',
    summary: 'Replace the secret of a webhook',
    secret: true,
    audit: 'webhook.rotate',
    body: emptyBody,
    handle: (parts, { params }) => rotateWebhook(parts, { owner: OPERATOR, id: params.id }),
  }),
  route('POST /api/console/admin/webhooks/{id}/test', {
    who: 'operator',
    may: 'change_settings',
    summary: 'Test a webhook',
    audit: 'webhook.test',
    body: emptyBody,
    handle: (parts, { params, operator }) =>
      testWebhook(parts, { owner: OPERATOR, id: params.id }, operator.id),
  }),
  route('DELETE /api/console/admin/webhooks/{id}', {
    who: 'operator',
    may: 'change_settings',
    summary: 'Remove a webhook',
    audit: 'webhook.remove',
    async handle({ messages }, { params }) {
      await messages.webhooks.remove(OPERATOR, params.id);
      return {};
    },
  }),
];

function adminMessage(row: ListedMessage, emails: ReadonlyMap<string, string>) {
  return {
    ...messageItem(row),
    /** Null: the operator. */
    accountId: row.account_id === OPERATOR ? null : row.account_id,
    /** The address of that account. */
    email: emails.get(row.account_id) ?? null,
    /** A mail address, or the address of a webhook; null when it was removed since. */
    destination: row.kind === 'mail' ? row.destination : row.url,
  };
}

/** A message, with the address of its webhook if it goes to one that is still there. */
export type ListedMessage = OutboxRow & { readonly url: string | null };

interface MessageFilter {
  readonly state?: 'waiting' | 'sent' | 'failed' | undefined;
  readonly kind?: 'mail' | 'webhook' | undefined;
  readonly topic?: string | undefined;
  /** Part of the id, the topic, where it goes, whom it is about, or of the error of an attempt. */
  readonly search?: string | undefined;
}

const WEBHOOK_URL = sql`(SELECT w.url FROM webhook w WHERE w.id = t.destination)`;

/** The id of a message holds its time. */
export const MESSAGE_TABLE: ListedTable = {
  from: sql`outbox AS t`,
  columns: sql`t.*, ${WEBHOOK_URL} AS url`,
  time: sql`t.created_at`,
  mark: [textColumn(sql`t.id`)],
  sorted: {
    to: textColumn(sql`coalesce(${WEBHOOK_URL}, t.destination)`),
    attempts: numberColumn(sql`t.attempts`),
    topic: textColumn(sql`t.topic`),
  },
};

export function messageFilter({ state, kind, topic, search }: MessageFilter): TableFilter {
  const columns = [sql`t.topic`, sql`t.destination`, WEBHOOK_URL, emailIn('t.account_id'), sql`t.history`];
  return {
    where: equals('t.state', state),
    checks: [
      ...equals('t.kind', kind),
      ...equals('t.topic', topic),
      ...(search === undefined ? [] : [anyContains(search, columns, [sql`t.id`])]),
    ],
  };
}
