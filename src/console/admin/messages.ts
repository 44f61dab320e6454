import { z } from 'zod';
import { AuthRefusal } from '../../identity/sign-in/refusal.ts';
import { OPERATOR } from '../../outbox/events.ts';
import type { OutboxRow } from '../../store/schema-outbox.ts';
import type { AdminMessage, MailState, MessageAttempt, Page } from '../contract.ts';
import { limitOf, pageOf, pagingFields } from '../paging.ts';
import { emptyBody, route } from '../route.ts';
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

/** What leaves the house, with its attempts, the operator's own webhooks, and a test of each way. */
export const messageRoutes = [
  route('GET /api/console/admin/messages', {
    who: 'admin',
    query: z.strictObject({
      ...pagingFields,
      state: z.enum(['waiting', 'sent', 'failed']).optional(),
      kind: z.enum(['mail', 'webhook']).optional(),
    }),
    async handle({ store, reader }, { query }): Promise<Page<AdminMessage>> {
      const limit = limitOf(query);
      let rows = store.db
        .selectFrom('outbox')
        .leftJoin('webhook', 'webhook.id', 'outbox.destination')
        .selectAll('outbox')
        .select('webhook.url');
      if (query.state) rows = rows.where('outbox.state', '=', query.state);
      if (query.kind) rows = rows.where('outbox.kind', '=', query.kind);
      if (query.cursor) rows = rows.where('outbox.id', '<', query.cursor);
      const page = await reader.all(rows.orderBy('outbox.id', 'desc').limit(limit + 1));
      return pageOf(page, limit, { item: adminMessage, cursor: (row) => row.id });
    },
  }),
  route('GET /api/console/admin/mail', {
    who: 'admin',
    handle: ({ messages: { mail } }): Promise<MailState> => Promise.resolve({ mail: mail ?? null }),
  }),
  /** To the admin's own address; one attempt at once, whose result is the answer. */
  route('POST /api/console/admin/mail/test', {
    who: 'admin',
    audit: 'mail.test',
    body: emptyBody,
    async handle({ auth, messages, store, clock }, { user }): Promise<MessageAttempt> {
      if (!messages.mail) throw new AuthRefusal('conflict', 'Mail is not configured: set TOLLGATE_SMTP_URL.');
      auth.throttle.act('webhook', user.accountId);
      const mail = { accountId: user.accountId, template: 'mail.test', data: { at: clock.now() } } as const;
      return await sendAtOnce(messages, await messages.notices.mail(store.db, { ...mail, ...SENT_AT_ONCE }));
    },
  }),
  route('GET /api/console/admin/webhooks', {
    who: 'admin',
    handle: (parts) => listWebhooks(parts, OPERATOR),
  }),
  route('POST /api/console/admin/webhooks', {
    who: 'admin',
    audit: 'webhook.add',
    body: newWebhookSchema,
    handle: (parts, { body }) => addWebhook(parts, OPERATOR, body),
  }),
  route('PATCH /api/console/admin/webhooks/{id}', {
    who: 'admin',
    audit: 'webhook.change',
    body: webhookPatchSchema,
    handle: (parts, { params, body }) => changeWebhook(parts, { owner: OPERATOR, id: params.id }, body),
  }),
  route('POST /api/console/admin/webhooks/{id}/rotate', {
    who: 'admin',
    audit: 'webhook.rotate',
    body: emptyBody,
    handle: (parts, { params }) => rotateWebhook(parts, { owner: OPERATOR, id: params.id }),
  }),
  route('POST /api/console/admin/webhooks/{id}/test', {
    who: 'admin',
    audit: 'webhook.test',
    body: emptyBody,
    handle: (parts, { params, user }) =>
      testWebhook(parts, { owner: OPERATOR, id: params.id }, user.accountId),
  }),
  route('DELETE /api/console/admin/webhooks/{id}', {
    who: 'admin',
    audit: 'webhook.remove',
    async handle({ messages }, { params }) {
      await messages.webhooks.remove(OPERATOR, params.id);
      return {};
    },
  }),
];

function adminMessage(row: OutboxRow & { readonly url: string | null }): AdminMessage {
  return {
    ...messageItem(row),
    accountId: row.account_id === OPERATOR ? null : row.account_id,
    destination: row.kind === 'mail' ? row.destination : row.url,
  };
}
