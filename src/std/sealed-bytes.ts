import { createCipheriv, createDecipheriv } from 'node:crypto';

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

/** Throws if it was sealed with another key or label, or changed since. */
export function openBytes(key: Uint8Array, label: string, sealed: Uint8Array): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(label)).setAuthTag(sealed.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
}
