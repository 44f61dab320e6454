import type { Answer, BodyOf, ItemOf } from '../../src/console/contract/routes.ts';

// What several pages share of the console's API: answers of its routes, and parts of them.

export type SessionState = Answer<'GET /api/console/session'>;
export type SignedInUser = NonNullable<SessionState['user']>;
export type Overview = Answer<'GET /api/console/overview'>;
export type Quickstart = Answer<'GET /api/console/quickstart'>;
export type ModelList = Answer<'GET /api/console/models'>;
export type ModelItem = ModelList['models'][number];
export type ImageAbilityList = NonNullable<ModelItem['abilities']>;
export type EndpointItem = ModelList['endpoints'][number];
export type UsageReport = Answer<'GET /api/console/usage'>;
export type UsageChartRow = UsageReport['rows'][number];
export type UsageSaved = UsageReport['totals'];
export type UsageHeatMap = Answer<'GET /api/console/usage/hours'>;
export type ReceiptDetail = Answer<'GET /api/console/requests/{id}'>;
export type ReceiptAttempt = ReceiptDetail['attempts'][number];
export type CardPayments = Answer<'GET /api/console/payments'>;
export type WebhookItem = ItemOf<'GET /api/console/webhooks'>;
export type PlaygroundChatBody = BodyOf<'POST /api/console/playground/chat'>;
export type PlaygroundMessage = PlaygroundChatBody['messages'][number];
export type PlaygroundReceipt = Answer<'POST /api/console/playground/images'>['receipt'];

export type AdminMargin = Answer<'GET /api/console/admin/margin'>;
export type AdminMarginSums = AdminMargin['total'];
export type AdminCatalog = Answer<'GET /api/console/admin/catalog'>;
export type AdminCatalogProposal = Answer<'POST /api/console/admin/catalog/propose'>;
export type AdminCatalogImport = Answer<'POST /api/console/admin/catalog/import'>;
export type AdminOverview = Answer<'GET /api/console/admin/overview'>;
export type AdminAttention = Answer<'GET /api/console/admin/attention'>;
export type AdminTraffic = Answer<'GET /api/console/admin/traffic'>;
export type TrafficColumn = AdminTraffic['columns'][number];
export type TrafficNode = TrafficColumn['nodes'][number];
export type TrafficHealth = TrafficNode['health'];
export type AdminProviders = Answer<'GET /api/console/admin/providers'>;
export type AdminCatalogDraft = Answer<'GET /api/console/admin/catalog/draft'>;
export type AdminBackendDetail = Answer<'GET /api/console/admin/backends/{id}/edit'>;
