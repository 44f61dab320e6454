import { accountActRoutes, adminAccountRoutes } from './admin/accounts.ts';
import { attentionRoutes } from './admin/attention.ts';
import { backendDetailRoutes } from './admin/backend-detail.ts';
import { backendRoutes } from './admin/backends.ts';
import { newBackendRoutes } from './admin/new-backend.ts';
import { priceRoutes } from './admin/prices.ts';
import { catalogImportRoutes } from './admin/catalog-import.ts';
import { catalogDraftRoutes } from './admin/catalog-draft.ts';
import { catalogRoutes } from './admin/catalog.ts';
import { codeRoutes } from './admin/codes.ts';
import { marginRoutes, providerBillRoutes } from './admin/margin.ts';
import { messageRoutes } from './admin/messages.ts';
import { moneyRoutes } from './admin/money.ts';
import { operatorRoutes } from './admin/operators.ts';
import { adminPaymentRoutes } from './admin/payments.ts';
import { adminOverviewRoutes } from './admin/overview.ts';
import { adminRequestRoutes } from './admin/requests.ts';
import { adminTeamRoutes } from './admin/teams.ts';
import { trafficRoutes } from './admin/traffic.ts';
import { siteRoutes } from './admin/site.ts';
import { addressRoutes, settingsRoutes, exportRoutes } from './settings.ts';
import { billingRoutes } from './billing.ts';
import { figureRoutes } from './figures.ts';
import { imageRoutes } from './images.ts';
import { modelRoutes } from './models.ts';
import { overviewRoutes } from './overview.ts';
import { passkeyRoutes } from './passkeys.ts';
import { paymentConsoleRoutes } from './payments.ts';
import { passwordResetRoutes } from './password-reset.ts';
import { playgroundRoutes } from './playground.ts';
import { refusedCallRoutes } from './refused-calls.ts';
import { requestRoutes } from './requests.ts';
import { signInRoutes } from './sign-in.ts';
import { sessionRoutes } from './session.ts';
import { sharedReceiptRoutes } from './shared-receipt.ts';
import { adminStatementRoutes, statementRoutes } from './statements.ts';
import { tagRoutes } from './tags.ts';
import { teamRoutes } from './team.ts';
import { teamAccountRoutes } from './team-accounts.ts';
import { teamActivityRoutes } from './team-activity.ts';
import { tokenRoutes } from './token.ts';
import { usageRoutes } from './usage.ts';
import { teamWebhookRoutes, webhookRoutes } from './webhooks.ts';

/** Every route of the console's API: what the server finds, the authorisation test calls and the pages may name. */
export const ROUTES = [
  ...signInRoutes,
  ...sessionRoutes,
  ...passwordResetRoutes,
  ...addressRoutes,
  ...modelRoutes,
  ...figureRoutes,
  ...overviewRoutes,
  ...tokenRoutes,
  ...usageRoutes,
  ...tagRoutes,
  ...requestRoutes,
  ...sharedReceiptRoutes,
  ...refusedCallRoutes,
  ...imageRoutes,
  ...billingRoutes,
  ...paymentConsoleRoutes,
  ...statementRoutes,
  ...settingsRoutes,
  ...exportRoutes,
  ...passkeyRoutes,
  ...webhookRoutes,
  ...teamWebhookRoutes,
  ...playgroundRoutes,
  ...teamRoutes,
  ...teamAccountRoutes,
  ...teamActivityRoutes,
  ...adminOverviewRoutes,
  ...attentionRoutes,
  ...trafficRoutes,
  ...adminAccountRoutes,
  ...accountActRoutes,
  ...moneyRoutes,
  ...adminPaymentRoutes,
  ...marginRoutes,
  ...providerBillRoutes,
  ...adminStatementRoutes,
  ...adminRequestRoutes,
  ...codeRoutes,
  ...catalogRoutes,
  ...catalogDraftRoutes,
  ...catalogImportRoutes,
  ...backendRoutes,
  ...backendDetailRoutes,
  ...newBackendRoutes,
  ...priceRoutes,
  ...siteRoutes,
  ...messageRoutes,
  ...operatorRoutes,
  ...adminTeamRoutes,
];
