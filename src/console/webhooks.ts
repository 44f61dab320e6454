import { z } from 'zod';
import type { Visitor } from '../identity/sign-in/session.ts';
import { CHAT_LANGUAGES, WEBHOOK_FORMATS } from '../outbox/chat-formats.ts';
import { ACCOUNT_EVENTS, OPERATOR, OPERATOR_EVENTS } from '../outbox/events.ts';
import { MAX_WEBHOOKS, type WebhookView } from '../outbox/webhooks.ts';
import { readAttempts } from '../outbox/sender.ts';
import { Fault } from '../std/fault.ts';
import type { OutboxRow } from '../store/schema-services.ts';
import type { RouteParts } from './parts.ts';
import { emptyBody, route } from './route.ts';
import { requireTeamRight } from './team-view.ts';

const events = z.array(z.string().max(50)).max(20);
export const newWebhookSchema = z.strictObject({
  url: z.string().max(1_000),
  events,
  format: z.enum(WEBHOOK_FORMATS).default('standard'),
  /** The language of messages to a chat tool. */
  language: z.enum(CHAT_LANGUAGES).optional(),
});
/** `resume`: lets a paused one be called again. */
export const webhookPatchSchema = z.strictObject({
  events: events.optional(),
  resume: z.literal(true).optional(),
});

/** Where an account's own programs are told what happens to it. */
export const webhookRoutes = [
  route('GET /api/console/webhooks', {
    who: 'user',
    handle: (parts, { user }) => listWebhooks(parts, user.accountId),
  }),
  route('POST /api/console/webhooks', {
    who: 'user',
    body: newWebhookSchema,
    handle: (parts, { user, body }) => addWebhook(parts, user.accountId, body),
  }),
  route('PATCH /api/console/webhooks/{id}', {
    who: 'user',
    body: webhookPatchSchema,
    handle: (parts, { user, params, body }) =>
      changeWebhook(parts, { owner: user.accountId, id: params.id }, body),
  }),
  route('POST /api/console/webhooks/{id}/rotate', {
    who: 'user',
    body: emptyBody,
    handle: (parts, { user, params }) => rotateWebhook(parts, { owner: user.accountId, id: params.id }),
  }),
  /** One attempt at once, whose result is the answer. */
  route('POST /api/console/webhooks/{id}/test', {
    who: 'user',
    body: emptyBody,
    handle: (parts, { user, params }) =>
      testWebhook(parts, { owner: user.accountId, id: params.id }, user.accountId),
  }),
  route('GET /api/console/webhooks/{id}/messages', {
    who: 'user',
    handle: (parts, { user, params }) => webhookMessages(parts, { owner: user.accountId, id: params.id }),
  }),
  route('DELETE /api/console/webhooks/{id}', {
    who: 'user',
    async handle({ messages }, { user, params }) {
      await messages.webhooks.remove(user.accountId, params.id);
      return {};
    },
  }),
];

/** Where a team's own programs are told what happens to it, its members and its apps. */
export const teamWebhookRoutes = [
  route('GET /api/console/team/webhooks', {
    who: 'user',
    handle: async (parts, { user }) => await listWebhooks(parts, await ownTeamId(parts, user)),
  }),
  route('POST /api/console/team/webhooks', {
    who: 'user',
    body: newWebhookSchema,
    handle: async (parts, { user, body }) => await addWebhook(parts, await ownTeamId(parts, user), body),
  }),
  route('PATCH /api/console/team/webhooks/{id}', {
    who: 'user',
    body: webhookPatchSchema,
    handle: async (parts, { user, params, body }) =>
      await changeWebhook(parts, { owner: await ownTeamId(parts, user), id: params.id }, body),
  }),
  route('POST /api/console/team/webhooks/{id}/rotate', {
    who: 'user',
    body: emptyBody,
    handle: async (parts, { user, params }) =>
      await rotateWebhook(parts, { owner: await ownTeamId(parts, user), id: params.id }),
  }),
  route('POST /api/console/team/webhooks/{id}/test', {
    who: 'user',
    body: emptyBody,
    handle: async (parts, { user, params }) =>
      await testWebhook(parts, { owner: await ownTeamId(parts, user), id: params.id }, user.accountId),
  }),
  route('DELETE /api/console/team/webhooks/{id}', {
    who: 'user',
    async handle(parts, { user, params }) {
      await parts.messages.webhooks.remove(await ownTeamId(parts, user), params.id);
      return {};
    },
  }),
];

async function ownTeamId(parts: RouteParts, user: Visitor): Promise<string> {
  const { teamId } = await requireTeamRight(parts, user, 'change_webhooks');
  return teamId;
}

interface OwnWebhook {
  /** An account, or `OPERATOR`. */
  readonly owner: string;
  readonly id: string;
}

export async function listWebhooks({ messages }: RouteParts, owner: string) {
  return {
    items: (await messages.webhooks.list(owner)).map(webhookItem),
    /** The events that they can ask for. */
    events: [...(owner === OPERATOR ? OPERATOR_EVENTS : ACCOUNT_EVENTS)],
    /** How many there may be. */
    max: MAX_WEBHOOKS,
  };
}

/** The secret is shown here, and where it is replaced, and never again; null: a chat tool has none. */
export async function addWebhook(
  { auth, messages }: RouteParts,
  owner: string,
  wanted: z.output<typeof newWebhookSchema>,
) {
  auth.throttle.act('webhook', owner);
  const { webhook, secret } = await messages.webhooks.add(owner, wanted);
  return { webhook: webhookItem(webhook), secret: secret ?? null };
}

export async function changeWebhook(
  { messages }: RouteParts,
  { owner, id }: OwnWebhook,
  patch: z.output<typeof webhookPatchSchema>,
) {
  if (patch.resume) await messages.webhooks.resume(owner, id);
  if (patch.events) await messages.webhooks.change(owner, id, patch.events);
  return await findWebhook({ messages }, { owner, id });
}

export async function rotateWebhook({ messages }: RouteParts, { owner, id }: OwnWebhook) {
  const { webhook, secret } = await messages.webhooks.rotate(owner, id);
  return { webhook: webhookItem(webhook), secret };
}

export async function testWebhook(
  { auth, messages, store, clock }: RouteParts,
  { owner, id }: OwnWebhook,
  actor: string,
) {
  auth.throttle.act('webhook', actor);
  await findWebhook({ messages }, { owner, id });
  const type = 'webhook.test';
  const data = { account: owner === OPERATOR ? null : owner };
  const messageId = await messages.outbox.add(store.db, {
    kind: 'webhook',
    topic: type,
    accountId: owner,
    to: id,
    payload: { type, timestamp: new Date(clock.now()).toISOString(), data },
    ...SENT_AT_ONCE,
  });
  return await sendAtOnce(messages, messageId);
}

/** One attempt: whoever pressed the button sees its result. */
export const SENT_AT_ONCE = { lifeMs: 0, delayMs: 60_000 } as const;

export async function sendAtOnce({ sender }: RouteParts['messages'], messageId: string | undefined) {
  const attempt = messageId === undefined ? undefined : await sender.sendNow(messageId);
  if (!attempt) throw new Fault('conflict', 'Too much is waiting for this address. Try again later.');
  return { ...attempt };
}

const SHOWN_MESSAGES = 20;

async function webhookMessages({ messages, store }: RouteParts, { owner, id }: OwnWebhook) {
  await findWebhook({ messages }, { owner, id });
  const rows = await store.db
    .selectFrom('outbox')
    .selectAll()
    .where('destination', '=', id)
    .orderBy('id', 'desc')
    .limit(SHOWN_MESSAGES)
    .execute();
  return { items: rows.map(messageItem) };
}

export function messageItem(row: OutboxRow) {
  const { id, kind, topic, state } = row;
  return {
    id,
    kind,
    /** The event or the template. */
    topic,
    state,
    createdAt: row.created_at,
    finishedAt: row.finished_at,
    /** When it is tried again; null when it is over. */
    nextAt: state === 'waiting' ? row.next_at : null,
    attempts: readAttempts(row).map(({ at, ms, status, error }) => ({ at, ms, status, error })),
  };
}

async function findWebhook({ messages }: Pick<RouteParts, 'messages'>, { owner, id }: OwnWebhook) {
  const found = (await messages.webhooks.list(owner)).find((one) => one.id === id);
  if (!found) throw new Fault('not_found', 'There is no such webhook.');
  return webhookItem(found);
}

function webhookItem({
  events: asked,
  oldUntil,
  lastAt,
  lastError,
  failingSince,
  paused,
  ...rest
}: WebhookView) {
  return {
    ...rest,
    events: [...asked],
    oldUntil: oldUntil ?? null,
    lastAt: lastAt ?? null,
    lastError: lastError ?? null,
    failingSince: failingSince ?? null,
    paused: paused ? { ...paused } : null,
  };
}
