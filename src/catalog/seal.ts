import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** The key that seals stored provider keys: derived from the server's secret, for this use alone. */
export function deriveSealingKey(secret: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', 'tollgate provider keys v1', 32));
}

const VERSION = 'v1';

/** AES-256-GCM, `v1.nonce.text.tag`. The name is authenticated too: a sealed value cannot be passed off under another. */
export function seal(key: Uint8Array, name: string, value: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(name));
  const sealed = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()]);
  return [VERSION, ...[nonce, sealed, cipher.getAuthTag()].map((part) => part.toString('base64url'))].join(
    '.',
  );
}

/** `undefined`: sealed with another secret, under another name, or changed since. */
export function unseal(key: Uint8Array, name: string, sealed: string): string | undefined {
  const [version, nonce = '', text = '', tag = ''] = sealed.split('.');
  if (version !== VERSION) return undefined;
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), {
      authTagLength: 16,
    });
    decipher.setAAD(Buffer.from(name)).setAuthTag(Buffer.from(tag, 'base64url'));
    return Buffer.concat([decipher.update(Buffer.from(text, 'base64url')), decipher.final()]).toString(
      'utf8',
    );
  } catch {
    // A failed authentication is an answer, not an accident.
    return undefined;
  }
}

/** Enough to tell two keys apart, too little to use one. */
export function hintOf(value: string): string {
  return value.length >= 12 ? `…${value.slice(-4)}` : '…';
}
