let told: string | null = null;

/** Called with the session, which is loaded before any page. */
export function tellPublicUrl(url: string | null): void {
  told = url;
}

/** Where customers reach this server: the operator's public address if there is one, else the origin of this page. */
export function publicOrigin(): string {
  return told ?? location.origin;
}

/** A random key that cannot be guessed; also works on plain HTTP, where `randomUUID` is missing. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

/** Saves a file that is in memory. */
export function saveFile(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
