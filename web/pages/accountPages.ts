/**
 * Pages of one chunk: users who open one of them usually open the others, and many small files load slower than one.
 */
export { default as BillingPage } from './billing/BillingPage.tsx';
export { default as KeyPage } from './key/KeyPage.tsx';
export { default as ModelPage } from './models/ModelPage.tsx';
export { default as ModelsPage } from './models/ModelsPage.tsx';
export { default as OverviewPage } from './overview/OverviewPage.tsx';
export { default as QuickstartPage } from './quickstart/QuickstartPage.tsx';
export { default as RefusedCallsPage } from './refused/RefusedCallsPage.tsx';
export { default as RequestsPage } from './requests/RequestsPage.tsx';
export { default as StatementsPage } from './statements/StatementsPage.tsx';
export { default as UsagePage } from './usage/UsagePage.tsx';
