import { BALANCE_READS } from '../../../lib/wallet.ts';

/** Queries that any action on an account makes stale. */
export const ACCOUNT_READS = [
  'GET /api/console/admin/accounts',
  'GET /api/console/admin/accounts/{id}',
  'GET /api/console/admin/entries',
  ...BALANCE_READS,
] as const;
