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
import { marginRoutes } from './admin/margin.ts';
import { messageRoutes } from './admin/messages.ts';
import { moneyRoutes } from './admin/money.ts';
import { adminPaymentRoutes } from './admin/payments.ts';
import { adminOverviewRoutes } from './admin/overview.ts';
import { adminRequestRoutes } from './admin/requests.ts';
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
import type { RouteDeclaration } from './route.ts';
import { sessionRoutes } from './session.ts';
import { sharedReceiptRoutes } from './shared-receipt.ts';
import { statementRoutes } from './statements.ts';
import { tokenRoutes } from './token.ts';
import { usageRoutes } from './usage.ts';
import { webhookRoutes } from './webhooks.ts';

/** Every route of the console's API: what the server finds, the authorisation test calls and the pages may name. */
export const ROUTES = [
  ...sessionRoutes,
  ...passwordResetRoutes,
  ...addressRoutes,
  ...modelRoutes,
  ...figureRoutes,
  ...overviewRoutes,
  ...tokenRoutes,
  ...usageRoutes,
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
  ...playgroundRoutes,
  ...adminOverviewRoutes,
  ...attentionRoutes,
  ...trafficRoutes,
  ...adminAccountRoutes,
  ...accountActRoutes,
  ...moneyRoutes,
  ...adminPaymentRoutes,
  ...marginRoutes,
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
];

export interface MatchedRoute {
  readonly route: RouteDeclaration;
  readonly params: Readonly<Record<string, string>>;
}

const PATTERNS = ROUTES.map((route) => ({ route, segments: route.name.split('/') }));

/** `path` as it was sent. No two routes match the same path, so their order does not matter. */
export function matchRoute(method: string, path: string): MatchedRoute | undefined {
  const asked = `${method} ${path}`.split('/').map(decodeSegment);
  for (const { route, segments } of PATTERNS) {
    const params = matchSegments(segments, asked);
    if (params) return { route, params };
  }
  return undefined;
}

function matchSegments(
  segments: readonly string[],
  asked: readonly string[],
): Record<string, string> | undefined {
  if (segments.length !== asked.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const value = asked[index] ?? '';
    if (segment.startsWith('{') && value !== '') params[segment.slice(1, -1)] = value;
    else if (segment !== value) return undefined;
  }
  return params;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    // A stray % is taken as it stands; nothing of ours has one.
    return segment;
  }
}
