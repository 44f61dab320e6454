import { useCallback } from 'react';
import type { Answer, BodyOf } from '../../../src/console/contract/routes.ts';
import type { WebhookItem } from '../../lib/answers.ts';
import { call, type ReadRoute } from '../../lib/api.ts';
import { useTranslation } from '../../lib/translation.tsx';

type NewWebhook = BodyOf<'POST /api/console/webhooks'>;
type MadeWebhook = Answer<'POST /api/console/webhooks'>;
type RotatedWebhook = Answer<'POST /api/console/webhooks/{id}/rotate'>;
type MessageAttempt = Answer<'POST /api/console/webhooks/{id}/test'>;

/** The account's own webhooks, the team's or the operator's: the same actions on other routes. */
export interface WebhookCalls {
  readonly list: ReadRoute & `${string}/webhooks`;
  add(body: NewWebhook): Promise<MadeWebhook>;
  resume(id: string): Promise<WebhookItem>;
  rotate(id: string): Promise<RotatedWebhook>;
  test(id: string): Promise<MessageAttempt>;
  remove(id: string): Promise<unknown>;
}

export const ACCOUNT_WEBHOOKS: WebhookCalls = {
  list: 'GET /api/console/webhooks',
  add: async (body) => await call('POST /api/console/webhooks', { body }),
  resume: async (id) =>
    await call('PATCH /api/console/webhooks/{id}', { params: { id }, body: { resume: true } }),
  rotate: async (id) => await call('POST /api/console/webhooks/{id}/rotate', { params: { id } }),
  test: async (id) => await call('POST /api/console/webhooks/{id}/test', { params: { id } }),
  remove: async (id) => await call('DELETE /api/console/webhooks/{id}', { params: { id } }),
};

export const TEAM_WEBHOOKS: WebhookCalls = {
  list: 'GET /api/console/team/webhooks',
  add: async (body) => await call('POST /api/console/team/webhooks', { body }),
  resume: async (id) =>
    await call('PATCH /api/console/team/webhooks/{id}', { params: { id }, body: { resume: true } }),
  rotate: async (id) => await call('POST /api/console/team/webhooks/{id}/rotate', { params: { id } }),
  test: async (id) => await call('POST /api/console/team/webhooks/{id}/test', { params: { id } }),
  remove: async (id) => await call('DELETE /api/console/team/webhooks/{id}', { params: { id } }),
};

export const OPERATOR_WEBHOOKS: WebhookCalls = {
  list: 'GET /api/console/admin/webhooks',
  add: async (body) => await call('POST /api/console/admin/webhooks', { body }),
  resume: async (id) =>
    await call('PATCH /api/console/admin/webhooks/{id}', { params: { id }, body: { resume: true } }),
  rotate: async (id) => await call('POST /api/console/admin/webhooks/{id}/rotate', { params: { id } }),
  test: async (id) => await call('POST /api/console/admin/webhooks/{id}/test', { params: { id } }),
  remove: async (id) => await call('DELETE /api/console/admin/webhooks/{id}', { params: { id } }),
};

/** An event, or the subject of a mail, in the reader's language; one without a text keeps its code. */
export function useEventName(): (event: string) => string {
  const { t, i18n } = useTranslation();
  return useCallback(
    (event) => {
      const name = event.replaceAll('.', '_');
      const key = [`webhooks.event.${name}`, `messages.topic.${name}`].find((one) => i18n.exists(one));
      return key === undefined ? event : t(key as never);
    },
    [t, i18n],
  );
}
