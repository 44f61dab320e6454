import type { Catalog } from '../catalog/catalog.ts';
import type { AccountSnapshot } from '../ledger/port.ts';
import { subtractNano, toUsdNumber } from '../std/money.ts';

/** `GET /account`: what the owner of the token has, may and did. */
export function accountView(snapshot: AccountSnapshot, catalog: Catalog) {
  const { limits, balance, held, monthSpent, monthlyLimit } = snapshot;
  return {
    account: snapshot.accountId,
    email: snapshot.email,
    balance_usd: toUsdNumber(balance),
    held_usd: toUsdNumber(held),
    available_usd: toUsdNumber(subtractNano(balance, held)),
    limits: {
      chat_per_minute: limits.chatPerMinute ?? catalog.limits.chatPerMinute,
      images_per_minute: limits.imagesPerMinute ?? catalog.limits.imagesPerMinute,
      concurrent: limits.concurrent ?? catalog.limits.concurrent,
      monthly_usd: monthlyLimit === undefined ? null : toUsdNumber(monthlyLimit),
    },
    usage: { month_usd: toUsdNumber(monthSpent), running: snapshot.openHolds },
  };
}
