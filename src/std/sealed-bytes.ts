import { createCipheriv, createDecipheriv } from 'node:crypto';
import { inSteps } from './long-text.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * AES-256-GCM: nonce, text, tag. The label is authenticated too, so that somebody with write access to the store cannot
 * pass off what was sealed as one thing for another.
 */
export function sealBytes(key: Uint8Array, label: string, content: string | Uint8Array): Buffer {
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(label));
  const text = typeof content === 'string' ? cipher.update(content, 'utf8') : cipher.update(content);
  // In this mode nothing is left for the end.
  cipher.final();
  return Buffer.concat([nonce, text, cipher.getAuthTag()]);
}

/** A long text, whose pieces are encrypted in a turn of the event loop each. */
export async function sealInSteps(key: Uint8Array, label: string, text: string): Promise<Buffer> {
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(label));
  const length = Buffer.byteLength(text);
  const sealed = Buffer.allocUnsafe(NONCE_BYTES + length + TAG_BYTES);
  sealed.set(nonce);
  let at = NONCE_BYTES;
  for await (const piece of inSteps(text)) {
    const encrypted = cipher.update(piece, 'utf8');
    sealed.set(encrypted, at);
    at += encrypted.byteLength;
  }
  cipher.final();
  sealed.set(cipher.getAuthTag(), at);
  return sealed;
}

/** Throws if it was sealed with another key or label, or changed since. */
export function openBytes(key: Uint8Array, label: string, sealed: Uint8Array): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(label)).setAuthTag(sealed.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
}
