import { createHmac, randomBytes } from 'node:crypto';
import { sql, type Kysely } from 'kysely';
import { unseal } from '../catalog/seal.ts';
import {
  abandonedReason,
  hasTimedOut,
  type OutboxChannel,
  type OutboxMessage,
  type SendResult,
  orAborted,
} from './sender.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import { publicTarget, type PublicTarget, type PublicTargetRules } from '../std/addresses.ts';
import type { Schema } from '../store/schema.ts';
import type { WebhookRow } from '../store/schema-services.ts';
import { OPERATOR } from './events.ts';
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

/** Signed events to the addresses that customers and the operator gave. */
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
  { key, rules, clock }: WebhookChannelParts,
  webhook: WebhookRow,
  message: OutboxMessage,
  signal: AbortSignal,
): Promise<SendResult> {
  const secrets = secretsOf(webhook, key, clock.now());
  if (secrets.length === 0) return { kind: 'failed', reason: 'its secret cannot be read; rotate it' };
  const target = await targetOf(webhook, rules);
  if (typeof target === 'string') return { kind: 'failed', reason: target };
  const body = JSON.stringify(message.payload);
  const response = await fetch(target.url, {
    ...target.options,
    method: 'POST',
    redirect: 'manual',
    headers: {
      ...(target.options.headers as Record<string, string>),
      ...webhookHeaders({ id: message.id, body, now: clock.now() }, secrets),
      'content-type': 'application/json',
      'user-agent': 'Tollgate-Webhooks',
    },
    body,
    signal,
  });
  const { status } = response;
  // The answer's body is not read: the owner of the address chooses what is in it.
  await response.body?.cancel();
  if (response.ok) return { kind: 'sent', status };
  const reason =
    status >= 300 && status < 400 ? `${status}: redirects are not followed` : `answered ${status}`;
  return { kind: 'failed', status, reason };
}

function secretsOf(webhook: WebhookRow, key: Uint8Array, now: number): string[] {
  const old = (webhook.old_until ?? 0) > now ? webhook.old_sealed : null;
  return [webhook.sealed, old].flatMap((sealed) => {
    const secret = sealed === null ? undefined : unseal(key, webhook.id, sealed);
    return secret === undefined ? [] : [secret];
  });
}

async function targetOf(
  { url, account_id }: WebhookRow,
  rules: WebhookRules,
): Promise<PublicTarget | string> {
  if (account_id === OPERATOR && rules.operatorMayBePrivate)
    return { url, options: { keepalive: false, headers: {} } };
  return await publicTarget(new URL(url), rules);
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

/** What waits for a webhook that gets nothing any more. */
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
