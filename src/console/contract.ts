/**
 * What the console's pages and its API agree on, as types alone: `web/` imports nothing else of the server. Paths are
 * same-origin, bodies and answers are JSON unless a line says otherwise, `{name}` in a path is a parameter to encode.
 */
export type * from './contract/shared.ts';
export type * from './contract/session.ts';
export type * from './contract/account.ts';
export type * from './contract/playground.ts';
export type * from './contract/admin.ts';

import type * as A from './contract/account.ts';
import type * as Admin from './contract/admin.ts';
import type * as P from './contract/playground.ts';
import type * as S from './contract/session.ts';
import type { Page } from './contract/shared.ts';

type Nothing = Record<string, never>;
type ById = { id: string };
type Paging = { cursor?: string; limit?: string };

/** Answered with bytes of another type than JSON. */
export type Csv = { readonly __media: 'text/csv' };
export type PictureBytes = { readonly __media: 'image/*' };
export type EventStreamBody = { readonly __media: 'text/event-stream' };

/**
 * Every route of the console's API. `body` is present exactly where the method takes one; an empty body is `{}`.
 * Statuses: 200, and the ones listed at ErrorCode.
 */
export interface ConsoleRoutes {
  // Anybody
  'GET /api/console/session': { response: S.SessionState };
  'GET /api/console/models': { response: A.ModelList };
  'GET /api/console/setup': { query: { token?: string }; response: S.SetupState };
  'POST /api/console/setup': { body: S.SetupBody; response: { accountId: string } };
  'POST /api/console/password-reset/check': {
    body: S.PasswordResetCheckBody;
    response: S.PasswordResetState;
  };
  /** Works once; every session of the account ends. */
  'POST /api/console/password-reset': { body: S.PasswordResetBody; response: S.PasswordResetDone };

  // The signed-in account
  'POST /api/console/confirm': { body: S.ConfirmBody; response: S.Confirmed };
  'GET /api/console/sessions': { response: { items: S.SessionItem[] } };
  'DELETE /api/console/sessions/{id}': { params: ById; response: Nothing };
  'GET /api/console/overview': { response: A.Overview };
  'GET /api/console/token': { response: A.TokenState };
  /** Creates, or replaces at once; replacing needs a recent confirmation. */
  'POST /api/console/token': { body: Nothing; response: A.TokenCreated };
  'DELETE /api/console/token': { response: Nothing };
  'GET /api/console/quickstart': { response: A.Quickstart };
  'GET /api/console/usage': { query: A.UsageQuery; response: A.UsageReport };
  /** One line per day, endpoint and model. */
  'GET /api/console/usage.csv': { query: A.UsageQuery; response: Csv };
  'GET /api/console/requests': { query: A.RequestQuery; response: A.RequestPage };
  /** One line per request, streamed; takes the filters of the list, not its cursor. */
  'GET /api/console/requests.csv': { query: A.RequestQuery; response: Csv };
  'GET /api/console/requests/{id}': { params: ById; response: A.ReceiptDetail };
  'GET /api/console/images': { query: Paging; response: Page<A.ImageItem> };
  'GET /api/console/images/{id}': { params: ById; response: PictureBytes };
  'DELETE /api/console/images/{id}': { params: ById; response: Nothing };
  'GET /api/console/entries': { query: A.EntryQuery; response: Page<A.Entry> };
  'POST /api/console/redeem': { body: A.RedeemBody; response: A.RedeemResult };
  'GET /api/console/settings': { response: S.Settings };
  'PATCH /api/console/settings': { body: S.SettingsPatch; response: S.Settings };
  'GET /api/console/passkeys': { response: { items: S.PasskeyItem[] } };
  'PATCH /api/console/passkeys/{id}': { params: ById; body: { name: string }; response: Nothing };
  'DELETE /api/console/passkeys/{id}': { params: ById; response: Nothing };
  'POST /api/console/playground/chat': { body: P.PlaygroundChatBody; response: EventStreamBody };
  'POST /api/console/playground/images': { body: P.PlaygroundImageBody; response: P.PlaygroundImages };

  // Admins
  'GET /api/console/admin/overview': { response: Admin.AdminOverview };
  'GET /api/console/admin/accounts': { query: Admin.AdminAccountQuery; response: Page<Admin.AdminAccount> };
  'POST /api/console/admin/accounts': {
    body: Admin.AdminCreateAccountBody;
    response: Admin.AdminCreatedAccount;
  };
  'GET /api/console/admin/accounts/{id}': { params: ById; response: Admin.AdminAccountDetail };
  'POST /api/console/admin/accounts/{id}/credit': {
    params: ById;
    body: Admin.AdminMoneyBody;
    response: Admin.AdminMoneyResult;
  };
  'POST /api/console/admin/accounts/{id}/refund': {
    params: ById;
    body: Admin.AdminMoneyBody;
    response: Admin.AdminMoneyResult;
  };
  'POST /api/console/admin/accounts/{id}/adjust': {
    params: ById;
    body: Admin.AdminMoneyBody;
    response: Admin.AdminMoneyResult;
  };
  'PATCH /api/console/admin/accounts/{id}/limits': {
    params: ById;
    body: Admin.AdminLimitsPatch;
    response: Admin.AdminAccount;
  };
  'POST /api/console/admin/accounts/{id}/enable': {
    params: ById;
    body: Nothing;
    response: Admin.AdminAccount;
  };
  /** Ends its sessions too; its token is refused from now on. */
  'POST /api/console/admin/accounts/{id}/disable': {
    params: ById;
    body: Nothing;
    response: Admin.AdminAccount;
  };
  'POST /api/console/admin/accounts/{id}/promote': {
    params: ById;
    body: Nothing;
    response: Admin.AdminAccount;
  };
  'POST /api/console/admin/accounts/{id}/demote': {
    params: ById;
    body: Nothing;
    response: Admin.AdminAccount;
  };
  'POST /api/console/admin/accounts/{id}/revoke-token': {
    params: ById;
    body: Nothing;
    response: Admin.AdminAccount;
  };
  /** A link to pass on, good for an hour and for one new password; it ends the one before it. */
  'POST /api/console/admin/accounts/{id}/reset-link': {
    params: ById;
    body: Nothing;
    response: Admin.AdminResetLink;
  };
  'POST /api/console/admin/accounts/{id}/reset-password': {
    params: ById;
    body: Nothing;
    response: Admin.AdminPasswordReset;
  };
  'GET /api/console/admin/requests': { query: Admin.AdminRequestQuery; response: Admin.AdminRequestPage };
  'GET /api/console/admin/requests.csv': { query: Admin.AdminRequestQuery; response: Csv };
  'GET /api/console/admin/requests/{id}': { params: ById; response: Admin.AdminReceipt };
  'GET /api/console/admin/entries': { query: Admin.AdminEntryQuery; response: Admin.AdminEntryPage };
  'GET /api/console/admin/codes': { query: Paging; response: Page<Admin.AdminCodeBatch> };
  'POST /api/console/admin/codes': { body: Admin.AdminMakeCodesBody; response: Admin.AdminMadeCodes };
  'GET /api/console/admin/invites': { query: Paging; response: Page<Admin.AdminInvite> };
  'POST /api/console/admin/invites': { body: { expiresAt?: number | null }; response: Admin.AdminMadeInvite };
  'DELETE /api/console/admin/invites/{id}': { params: ById; response: Nothing };
  'GET /api/console/admin/catalog': { response: Admin.AdminCatalog };
  'POST /api/console/admin/catalog/propose': {
    body: Admin.AdminCatalogDraft;
    response: Admin.AdminCatalogProposal;
  };
  'POST /api/console/admin/catalog': { body: Admin.AdminCatalogSave; response: { revision: number } };
  'GET /api/console/admin/catalog/history': { query: Paging; response: Page<Admin.AdminCatalogVersion> };
  'GET /api/console/admin/catalog/history/{id}': { params: ById; response: Admin.AdminCatalogVersionDetail };
  'GET /api/console/admin/catalog/keys': { response: Admin.AdminProviderKeys };
  'PUT /api/console/admin/catalog/keys/{id}': {
    params: ById;
    body: Admin.AdminProviderKeyBody;
    response: Admin.AdminProviderKey;
  };
  'DELETE /api/console/admin/catalog/keys/{id}': { params: ById; response: Nothing };
  'GET /api/console/admin/backends': { response: { items: Admin.AdminBackend[] } };
  'POST /api/console/admin/backends/{id}/test': {
    params: ById;
    body: Nothing;
    response: Admin.AdminBackendTest;
  };
  'POST /api/console/admin/ledger/verify': { body: Nothing; response: Admin.AdminVerification };
  'GET /api/console/admin/audit': { query: Admin.AdminAuditQuery; response: Page<Admin.AdminAuditItem> };
  'GET /api/console/admin/settings': { response: Admin.AdminSettings };
  'PATCH /api/console/admin/settings': { body: Admin.AdminSettingsPatch; response: Admin.AdminSettings };
}

export type ConsoleRoute = keyof ConsoleRoutes;
export type Answer<Key extends ConsoleRoute> = ConsoleRoutes[Key]['response'];
export type BodyOf<Key extends ConsoleRoute> = ConsoleRoutes[Key] extends { body: infer Body }
  ? Body
  : undefined;
export type QueryOf<Key extends ConsoleRoute> = ConsoleRoutes[Key] extends { query: infer Query }
  ? Query
  : undefined;
export type ParamsOf<Key extends ConsoleRoute> = ConsoleRoutes[Key] extends { params: infer Params }
  ? Params
  : undefined;
