import { formatUsd, nanoUsd } from '../std/money.ts';

/** One line of an account's export. */
export type AccountLine = { readonly type: string } & Readonly<Record<string, unknown>>;

export function time(ms: number): string {
  return new Date(ms).toISOString();
}

export function dollars(amount: number): string {
  return amount < 0 ? `-${formatUsd(nanoUsd(-amount))}` : formatUsd(nanoUsd(amount));
}
