let told: string | null = null;

/** Called with the session, which is loaded before any page. */
export function tellPublicUrl(url: string | null): void {
  told = url;
}

/** Where customers reach this server: the operator's public address if there is one, else the origin of this page. */
export function publicOrigin(): string {
  return told ?? location.origin;
}
