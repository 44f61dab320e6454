import { createHmac, randomBytes } from 'node:crypto';

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
export function webhookHeaders(
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
