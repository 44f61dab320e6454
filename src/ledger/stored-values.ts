/** Whoever calls chooses this text, so it is bounded. */
const MAX_CLIENT = 200;

export function storedClient(client: string): string {
  return client.length > MAX_CLIENT ? client.slice(0, MAX_CLIENT).toWellFormed() : client;
}

const MAX_STORED_MS = 2_147_483_647;

/** Times are whole milliseconds in the books, however they were measured. */
export function storedMs(ms: number): number {
  return Math.min(Math.max(0, Math.round(ms)), MAX_STORED_MS);
}
