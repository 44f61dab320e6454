let told: string | null = null;

/** From the session, which every page begins with. */
export function tellPublicUrl(url: string | null): void {
  told = url;
}

/** Where customers reach this server: as its operator says, else where this page came from. */
export function publicOrigin(): string {
  return told ?? location.origin;
}
