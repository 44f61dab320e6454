/** A random key that cannot be guessed; also works on plain HTTP, where `randomUUID` is missing. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
