import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** `v1` had no origin: such a key can be decrypted, but is not sent until it is entered again. */
const VERSION = 'v2';

/** A key's name and the server it was entered for. */
interface KeyLabel {
  readonly name: string;
  readonly origin: string | undefined;
}

/**
 * AES-256-GCM, `v2.origin.nonce.text.tag`. Name and origin are authenticated too: someone with write access to the
 * store can neither use a sealed value under another name nor have it sent to another server.
 */
export function seal(key: Uint8Array, label: KeyLabel & { origin: string }, value: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(labelBytes(label));
  const sealed = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()]);
  const parts = [Buffer.from(label.origin), nonce, sealed, cipher.getAuthTag()];
  return [VERSION, ...parts.map((part) => part.toString('base64url'))].join('.');
}

/** The origin in the sealed text, unverified; `undefined` if it names none. */
export function sealedOrigin(sealed: string): string | undefined {
  const [version, origin = ''] = sealed.split('.');
  return version === VERSION ? Buffer.from(origin, 'base64url').toString() : undefined;
}

/** `undefined`: sealed with another secret, under another name, for another server, or changed since. */
export function unseal(key: Uint8Array, name: string, sealed: string): string | undefined {
  const [version, ...parts] = sealed.split('.');
  if (version !== VERSION && version !== 'v1') return undefined;
  const [nonce = '', text = '', tag = ''] = version === VERSION ? parts.slice(1) : parts;
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), {
      authTagLength: 16,
    });
    decipher
      .setAAD(labelBytes({ name, origin: sealedOrigin(sealed) }))
      .setAuthTag(Buffer.from(tag, 'base64url'));
    return Buffer.concat([decipher.update(Buffer.from(text, 'base64url')), decipher.final()]).toString(
      'utf8',
    );
  } catch {
    // A failed authentication is an expected result.
    return undefined;
  }
}

/** A name has no line break, so no two labels have the same bytes. */
function labelBytes({ name, origin }: KeyLabel): Buffer {
  return Buffer.from(origin === undefined ? name : `${name}\n${origin}`);
}

/** Enough to tell two keys apart, too little to use one. */
export function hintOf(value: string): string {
  return value.length >= 12 ? `…${value.slice(-4)}` : '…';
}
