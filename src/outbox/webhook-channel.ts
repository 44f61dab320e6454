import { createHmac, randomBytes } from 'node:crypto';
import { sql, type Kysely } from 'kysely';
import { z } from 'zod';
import { unseal } from '../catalog/seal.ts';
import {
  abandonedReason,
  hasTimedOut,
  type OutboxChannel,
  type OutboxMessage,
  type SendResult,
} from './sender.ts';
import type { Clock } from '../std/clock.ts';
import { orAborted } from '../std/deadlines.ts';
import type { Log } from '../std/log.ts';
import { privateTarget, publicTarget, type PublicTargetRules, type Target } from '../std/addresses.ts';
import { isEncoded } from '../std/json-answer.ts';
import type { Schema } from '../store/schema.ts';
import type { WebhookRow } from '../store/schema-services.ts';
import { OPERATOR } from './events.ts';
import { chatRequest, isChatFormat } from './chat-formats.ts';
import type { MailSite } from './mail-data.ts';
import { isWaiting } from './outbox.ts';

export interface WebhookRules extends PublicTargetRules {
  /** The operator's own webhooks may be at any address, also without https. */
  readonly operatorMayBePrivate: boolean;
}

interface WebhookChannelParts {
  readonly db: Kysely<Schema>;
  /** Decrypts the webhooks' secrets. */
  readonly key: Uint8Array;
  readonly rules: WebhookRules;
  /** Named in what chat tools get. */
  readonly site: () => Promise<MailSite>;
  readonly clock: Clock;
  readonly log: Log;
  /** Told that an address gets nothing any more. */
  readonly onPaused?: ((paused: PausedWebhook) => Promise<unknown>) | undefined;
}

export interface PausedWebhook {
  readonly accountId: string;
  /** Without its query, which may hold a secret of the receiver. */
  readonly url: string;
  readonly reason: string;
}

const PAUSED_AFTER_MS = 3 * 86_400_000;
const LEAST_FAILURES = 5;
const GONE = 410;

/** Events to the addresses that customers and the operator gave: signed for programs, as text for chat tools. */
export function makeWebhookChannel(parts: WebhookChannelParts): OutboxChannel {
  return {
    async send(message, signal) {
      const { db } = parts;
      const webhook = await db
        .selectFrom('webhook')
        .selectAll()
        .where('id', '=', message.to)
        .executeTakeFirst();
      if (!webhook) return { kind: 'failed', reason: 'the webhook was removed', isFinal: true };
      const posted = post(parts, webhook, message, signal);
      const result = await orAborted(posted, signal).catch((error: unknown) => failure(error, signal));
      return await note(parts, webhook, message, result);
    },
  };
}

async function post(
  parts: WebhookChannelParts,
  webhook: WebhookRow,
  message: OutboxMessage,
  signal: AbortSignal,
): Promise<SendResult> {
  const posted = isChatFormat(webhook.format)
    ? await chatPost(parts, webhook, message)
    : signedPost(parts, webhook, message);
  if (typeof posted === 'string') return { kind: 'failed', reason: posted };
  const target = await targetOf(posted.url, webhook.account_id, parts.rules);
  if (typeof target === 'string') return { kind: 'failed', reason: target };
  const response = await fetch(target.url, {
    ...target.options,
    method: 'POST',
    redirect: 'manual',
    headers: {
      ...target.options.headers,
      ...posted.headers,
      'content-type': 'application/json',
      'user-agent': 'Tollgate-Webhooks',
    },
    body: posted.body,
    signal,
  });
  return await resultOf(response, posted);
}

interface WebhookPost {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Of a chat tool: its words for a refusal are read, and what they must not repeat. */
  readonly secrets?: readonly string[];
}

function signedPost(
  { key, clock }: WebhookChannelParts,
  webhook: WebhookRow,
  { id, payload }: OutboxMessage,
): WebhookPost | string {
  const secrets = secretsOf(webhook, key, clock.now());
  if (secrets.length === 0) return 'its secret cannot be read; rotate it';
  const body = JSON.stringify(payload);
  return {
    url: new URL(webhook.url),
    headers: webhookHeaders({ id, body, now: clock.now() }, secrets),
    body,
  };
}

/** The address is the secret. */
async function chatPost(
  { key, site }: WebhookChannelParts,
  { id, format, sealed, language, account_id }: WebhookRow,
  { payload }: OutboxMessage,
): Promise<WebhookPost | string> {
  const address = unseal(key, id, sealed);
  if (address === undefined || !isChatFormat(format)) return 'its address cannot be read; add it again';
  const event = { format, address, language, payload, isOperators: account_id === OPERATOR };
  const { url, body } = chatRequest(event, await site());
  return { url, headers: {}, body, secrets: secretParts(url) };
}

/** Whatever in an address is long enough to be a secret, as it is written there and as it is meant. */
function secretParts({ pathname, search, searchParams }: URL): string[] {
  const written = `${pathname}${search}`.split(/[/?&=]/);
  const meant = [...pathname.split('/').map(decoded), ...searchParams.values()];
  return [...written, ...meant]
    .filter((part) => part.length >= LEAST_SECRET)
    .toSorted((one, other) => other.length - one.length);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // Then nobody else reads it in another form either.
    return part;
  }
}

const LEAST_SECRET = 8;

async function resultOf(response: Response, { secrets }: WebhookPost): Promise<SendResult> {
  const { status } = response;
  // Otherwise the body is not read: the owner of the address chooses what is in it.
  const isRead = secrets && !response.ok && !isEncoded(response);
  const answer = isRead ? await refusalOf(response, secrets) : undefined;
  await response.body?.cancel();
  if (response.ok) return { kind: 'sent', status };
  const isRedirect = status >= 300 && status < 400;
  const words = isRedirect
    ? `${status}: redirects are not followed`
    : `answered ${status}${answer?.words ? `: ${answer.words}` : ''}`;
  const retryAfterMs = answer?.retryAfterMs ?? secondsToMs(response.headers.get('retry-after'));
  return { kind: 'failed', status, reason: words, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

const MAX_ANSWER = 4_096;
const MAX_WORDS = 200;

interface ChatRefusal {
  readonly words: string;
  readonly retryAfterMs: number | undefined;
}

/** What a chat tool says is wrong: a word of text, or a field of JSON, which each calls something else. */
async function refusalOf(response: Response, secrets: readonly string[]): Promise<ChatRefusal> {
  const text = await startOf(response);
  const { words, retryAfter } = readRefusal(text);
  const safe = secrets.reduce((said, secret) => said.replaceAll(secret, '…'), words);
  return {
    words: safe
      .replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
      .trim()
      .slice(0, MAX_WORDS),
    retryAfterMs: secondsToMs(retryAfter),
  };
}

const refusalSchema = z.object({
  /** Telegram. */
  description: z.string().optional(),
  parameters: z.object({ retry_after: z.number().optional() }).optional(),
  /** Discord. */
  message: z.string().optional(),
  retry_after: z.number().optional(),
  /** Teams. */
  error: z.object({ message: z.string().optional() }).optional(),
});

function readRefusal(text: string): { readonly words: string; readonly retryAfter?: number | undefined } {
  try {
    const { success, data } = refusalSchema.safeParse(JSON.parse(text));
    if (!success) return { words: '' };
    const { description, message, error, parameters, retry_after } = data;
    return {
      words: description ?? message ?? error?.message ?? '',
      retryAfter: parameters?.retry_after ?? retry_after,
    };
  } catch {
    // Slack answers with a word; a page of a proxy says nothing that helps.
    return { words: text.trimStart().startsWith('<') ? '' : text };
  }
}

async function startOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length >= MAX_ANSWER) break;
  }
  return text.slice(0, MAX_ANSWER);
}

const MAX_RETRY_AFTER_S = 3_600;

/** Waiting for longer than an hour would lose more than asking once too often. */
function secondsToMs(seconds: number | string | null | undefined): number | undefined {
  const value = seconds === null || seconds === undefined || seconds === '' ? Number.NaN : Number(seconds);
  return value > 0 ? Math.min(value, MAX_RETRY_AFTER_S) * 1_000 : undefined;
}

function secretsOf(webhook: WebhookRow, key: Uint8Array, now: number): string[] {
  const old = (webhook.old_until ?? 0) > now ? webhook.old_sealed : null;
  return [webhook.sealed, old].flatMap((sealed) => {
    const secret = sealed === null ? undefined : unseal(key, webhook.id, sealed);
    return secret === undefined ? [] : [secret];
  });
}

async function targetOf(url: URL, owner: string, rules: WebhookRules): Promise<Target | string> {
  if (owner === OPERATOR && rules.operatorMayBePrivate) return privateTarget(url);
  return await publicTarget(url, rules);
}

/** The words of a failed connection name addresses and paths of ours; its code is enough. */
function failure(error: unknown, signal: AbortSignal): SendResult {
  if (hasTimedOut(signal)) return { kind: 'failed', reason: abandonedReason(signal) };
  // It is not the receiver's fault that the server stops.
  if (signal.aborted) throw error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return { kind: 'failed', reason: `could not connect (${code})` };
}

/** Remembers how it went; one that has failed for days is paused, and what waits for it is given up. */
async function note(
  { db, clock, log, onPaused }: WebhookChannelParts,
  webhook: WebhookRow,
  message: OutboxMessage,
  result: SendResult,
): Promise<SendResult> {
  const now = clock.now();
  const own = db.updateTable('webhook').where('id', '=', webhook.id);
  if (result.kind === 'sent') {
    await own.set({ last_at: now, last_error: null, failing_since: null, failures: 0 }).execute();
    return result;
  }
  const since = webhook.failing_since ?? now;
  await own
    .set({ last_at: now, last_error: result.reason, failing_since: since, failures: sql`failures + 1` })
    .execute();
  const isOver = now - since >= PAUSED_AFTER_MS && webhook.failures + 1 >= LEAST_FAILURES;
  if (!isOver && result.status !== GONE) return result;
  const { id, account_id: account } = webhook;
  const { reason } = result;
  await own.set({ paused_at: now, paused_reason: reason }).execute();
  await giveUpMessages(db, { webhookId: id, except: message.id, now });
  log.warn('webhook_paused', { webhook: id, account, reason });
  const { origin, pathname } = new URL(webhook.url);
  await onPaused?.({ accountId: account, url: `${origin}${pathname}`, reason });
  return { ...result, isFinal: true };
}

/** Gives up the messages of a webhook that gets no more of them. */
export async function giveUpMessages(
  db: Kysely<Schema>,
  {
    webhookId,
    except = '',
    now,
  }: { readonly webhookId: string; readonly except?: string; readonly now: number },
): Promise<void> {
  await db
    .updateTable('outbox')
    .set({ state: 'failed', payload: null, finished_at: now })
    .where('destination', '=', webhookId)
    .where('id', '!=', except)
    .where(isWaiting)
    .execute();
}

/**
 * Standard Webhooks: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md. What is
 * signed is `id.timestamp.body`; the secret's bytes are what follows `whsec_`, in Base64.
 */
const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

export function newWebhookSecret(): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** Two secrets during a rotation: the receiver accepts a message if one signature is right. */
function webhookHeaders(
  message: { readonly id: string; readonly body: string; readonly now: number },
  secrets: readonly string[],
): Record<string, string> {
  const timestamp = String(Math.floor(message.now / 1000));
  const signed = `${message.id}.${timestamp}.${message.body}`;
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  });
  return {
    'webhook-id': message.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
