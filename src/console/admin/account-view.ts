import { monthSpent } from '../../activity/accounts.ts';
import { removedEmail } from '../../identity/accounts/removal.ts';
import type { AccountRow } from '../../store/schema.ts';
import { usd } from '../amounts.ts';
import type { AdminAccount } from '../contract.ts';

/** An account as an admin sees it. */
export function adminAccount(row: AccountRow, now: number): AdminAccount {
  return {
    id: row.id,
    email: row.email,
    role: row.role === 'admin' ? 'admin' : 'user',
    status: row.status,
    pausedBy: row.paused_reason,
    isRemoved: row.email === removedEmail(row.id),
    balanceUsd: usd(row.balance),
    heldUsd: usd(row.held),
    openHolds: row.open_holds,
    monthSpentUsd: usd(monthSpent(row, now)),
    limits: {
      chatPerMinute: row.chat_per_minute,
      imagesPerMinute: row.images_per_minute,
      concurrent: row.concurrent,
      monthlyUsd: row.monthly_limit === null ? null : usd(row.monthly_limit),
    },
    tokenHint: row.token_hint,
    tokenUsedAt: row.token_used_at,
    tokenExposedAt: row.token_exposed_at,
    createdAt: row.created_at,
  };
}
