import type { ConsoleRoute } from './contract.ts';

/** Who may call a route. `setup`: anyone, but only until the first admin exists. */
export type RouteAccess = 'public' | 'setup' | 'user' | 'admin';

export interface RouteRule {
  readonly who: RouteAccess;
  /** The password must have been entered within the last minutes. */
  readonly confirmed?: true;
  /** Its name in the audit log. Every admin route that changes something has one. */
  readonly audit?: string;
  readonly maxBytes?: number;
}

const user = { who: 'user' } as const;
const admin = { who: 'admin' } as const;
const act = (audit: string) => ({ who: 'admin', audit }) as const;
const actConfirmed = (audit: string) => ({ who: 'admin', audit, confirmed: true }) as const;

const MEGABYTE = 1_048_576;

/**
 * Every route of the console's API and who may use it: the one table that the server is built from and the authorisation
 * test is generated from. A route of the contract that is missing here does not compile.
 */
export const ROUTES = {
  'GET /api/console/session': { who: 'public' },
  'GET /api/console/models': { who: 'public' },
  'GET /api/console/setup': { who: 'setup' },
  'POST /api/console/setup': { who: 'setup' },
  'POST /api/console/password-reset/check': { who: 'public' },
  // The audit entry names the account itself as the actor, so the handler writes it.
  'POST /api/console/password-reset': { who: 'public' },

  'POST /api/console/confirm': user,
  'GET /api/console/sessions': user,
  'DELETE /api/console/sessions/{id}': user,
  'GET /api/console/overview': user,
  'GET /api/console/token': user,
  // Replacing needs a confirmation, creating the first one does not: the handler decides.
  'POST /api/console/token': user,
  'DELETE /api/console/token': { who: 'user', confirmed: true },
  'GET /api/console/quickstart': user,
  'GET /api/console/usage': user,
  'GET /api/console/usage.csv': user,
  'GET /api/console/requests': user,
  'GET /api/console/requests.csv': user,
  'GET /api/console/requests/{id}': user,
  'GET /api/console/images': user,
  'GET /api/console/images/{id}': user,
  'DELETE /api/console/images/{id}': user,
  'GET /api/console/entries': user,
  'POST /api/console/redeem': user,
  'GET /api/console/settings': user,
  'PATCH /api/console/settings': user,
  'GET /api/console/passkeys': user,
  'PATCH /api/console/passkeys/{id}': user,
  'DELETE /api/console/passkeys/{id}': { who: 'user', confirmed: true },
  'POST /api/console/playground/chat': { who: 'user', maxBytes: 20 * MEGABYTE },
  'POST /api/console/playground/images': user,

  'GET /api/console/admin/overview': admin,
  'GET /api/console/admin/accounts': admin,
  'POST /api/console/admin/accounts': actConfirmed('account.create'),
  'GET /api/console/admin/accounts/{id}': admin,
  'POST /api/console/admin/accounts/{id}/credit': actConfirmed('account.credit'),
  'POST /api/console/admin/accounts/{id}/refund': actConfirmed('account.refund'),
  'POST /api/console/admin/accounts/{id}/adjust': actConfirmed('account.adjust'),
  'PATCH /api/console/admin/accounts/{id}/limits': act('account.limits'),
  'POST /api/console/admin/accounts/{id}/enable': act('account.enable'),
  'POST /api/console/admin/accounts/{id}/disable': act('account.disable'),
  'POST /api/console/admin/accounts/{id}/promote': actConfirmed('account.promote'),
  'POST /api/console/admin/accounts/{id}/demote': actConfirmed('account.demote'),
  'POST /api/console/admin/accounts/{id}/revoke-token': act('account.revoke-token'),
  'POST /api/console/admin/accounts/{id}/reset-link': actConfirmed('account.reset-link'),
  'POST /api/console/admin/accounts/{id}/reset-password': actConfirmed('account.reset-password'),
  'GET /api/console/admin/requests': admin,
  'GET /api/console/admin/requests.csv': admin,
  'GET /api/console/admin/requests/{id}': admin,
  'GET /api/console/admin/entries': admin,
  'GET /api/console/admin/codes': admin,
  'POST /api/console/admin/codes': actConfirmed('codes.make'),
  'GET /api/console/admin/invites': admin,
  'POST /api/console/admin/invites': act('invite.make'),
  'DELETE /api/console/admin/invites/{id}': act('invite.remove'),
  'GET /api/console/admin/catalog': admin,
  // A preview stores nothing, so there is nothing to record.
  'POST /api/console/admin/catalog/propose': { who: 'admin', maxBytes: 4 * MEGABYTE },
  // Changing a backend's address changes where its key is sent.
  'POST /api/console/admin/catalog': { ...actConfirmed('catalog.save'), maxBytes: 4 * MEGABYTE },
  'GET /api/console/admin/catalog/history': admin,
  'GET /api/console/admin/catalog/history/{id}': admin,
  'GET /api/console/admin/catalog/keys': admin,
  'PUT /api/console/admin/catalog/keys/{id}': actConfirmed('provider-key.set'),
  'DELETE /api/console/admin/catalog/keys/{id}': actConfirmed('provider-key.remove'),
  'GET /api/console/admin/backends': admin,
  'POST /api/console/admin/backends/{id}/test': act('backend.test'),
  'POST /api/console/admin/ledger/verify': act('ledger.verify'),
  'GET /api/console/admin/audit': admin,
  'GET /api/console/admin/settings': admin,
  'PATCH /api/console/admin/settings': act('settings.change'),
} as const satisfies Record<ConsoleRoute, RouteRule>;
