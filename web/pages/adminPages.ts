/** What only administrators load. */
export { default as AccountsPage } from './admin/accounts/AccountsPage.tsx';
export { default as AdminOverviewPage } from './admin/overview/AdminOverviewPage.tsx';
export { default as AdminRefusedCallsPage } from './admin/refused/AdminRefusedCallsPage.tsx';
export { default as AdminRequestsPage } from './admin/requests/AdminRequestsPage.tsx';
export { default as AuditPage } from './admin/audit/AuditPage.tsx';
export { default as CodesPage } from './admin/codes/CodesPage.tsx';
export { default as MarginPage } from './admin/margin/MarginPage.tsx';
export { default as PaymentsPage } from './admin/payments/PaymentsPage.tsx';
export { default as LedgerPage } from './admin/ledger/LedgerPage.tsx';
export { default as TrafficPage } from './admin/traffic/TrafficPage.tsx';
export { default as OperatorsPage } from './admin/operators/OperatorsPage.tsx';
export { default as MessagesPage } from './admin/messages/MessagesPage.tsx';
