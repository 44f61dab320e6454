/** 1 request, 2 requests, 0 requests; 1 entry, 2 entries. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
