import { lazy, Suspense, type ComponentType, type LazyExoticComponent } from 'react';
import { Redirect, Route, Switch } from 'wouter';
import type { SessionState } from '../src/console/contract.ts';
import { nextPath, signInHref } from './lib/nextPath.ts';
import { NotFound } from './pages/NotFound.tsx';
import { PageSkeleton } from './shell/PageSkeleton.tsx';
import { Shell } from './shell/Shell.tsx';

type Lazy = LazyExoticComponent<ComponentType>;

/** Every page is a chunk of its own; the first load brings only the shell and the page asked for. */
const ACCOUNT_PAGES: readonly (readonly [path: string, page: Lazy])[] = [
  ['/app', lazy(() => import('./pages/overview/OverviewPage.tsx'))],
  ['/app/quickstart', lazy(() => import('./pages/quickstart/QuickstartPage.tsx'))],
  ['/app/key', lazy(() => import('./pages/key/KeyPage.tsx'))],
  ['/app/playground', lazy(() => import('./pages/playground/PlaygroundPage.tsx'))],
  ['/app/images', lazy(() => import('./pages/images/ImagesPage.tsx'))],
  ['/app/models', lazy(() => import('./pages/models/ModelsPage.tsx'))],
  ['/app/models/:endpoint/:model', lazy(() => import('./pages/models/ModelPage.tsx'))],
  ['/app/usage', lazy(() => import('./pages/usage/UsagePage.tsx'))],
  ['/app/requests', lazy(() => import('./pages/requests/RequestsPage.tsx'))],
  ['/app/billing', lazy(() => import('./pages/billing/BillingPage.tsx'))],
  ['/app/settings', lazy(() => import('./pages/settings/SettingsPage.tsx'))],
];

const ADMIN_PAGES: readonly (readonly [path: string, page: Lazy])[] = [
  ['/admin', lazy(() => import('./pages/admin/overview/AdminOverviewPage.tsx'))],
  ['/admin/accounts', lazy(() => import('./pages/admin/accounts/AccountsPage.tsx'))],
  ['/admin/codes', lazy(() => import('./pages/admin/codes/CodesPage.tsx'))],
  ['/admin/requests', lazy(() => import('./pages/admin/requests/AdminRequestsPage.tsx'))],
  ['/admin/catalog', lazy(() => import('./pages/admin/catalog/CatalogPage.tsx'))],
  ['/admin/backends', lazy(() => import('./pages/admin/backends/BackendsPage.tsx'))],
  ['/admin/ledger', lazy(() => import('./pages/admin/ledger/LedgerPage.tsx'))],
  ['/admin/audit', lazy(() => import('./pages/admin/audit/AuditPage.tsx'))],
  ['/admin/settings', lazy(() => import('./pages/admin/settings/AdminSettingsPage.tsx'))],
];

const PublicPage = lazy(() => import('./pages/public/PublicPage.tsx'));
const SignInPage = lazy(() => import('./pages/auth/SignInPage.tsx'));
const SignUpPage = lazy(() => import('./pages/auth/SignUpPage.tsx'));
const SetupPage = lazy(() => import('./pages/setup/SetupPage.tsx'));
const DocsPage = lazy(() => import('./pages/docs/DocsPage.tsx'));

export function Routes({ session }: { session: SessionState }) {
  return (
    <Switch>
      <Route path="/" component={PublicPage} />
      <Route path="/sign-in">
        <SignedOutOnly session={session} page={SignInPage} />
      </Route>
      <Route path="/sign-up">
        <SignedOutOnly session={session} page={SignUpPage} />
      </Route>
      <Route path="/setup/:token?" component={SetupPage} />
      <Route path="/docs/:page?/:part?" component={DocsPage} />
      <Route path="/app/*?">
        <Area session={session} area="account" pages={ACCOUNT_PAGES} />
      </Route>
      <Route path="/admin/*?">
        <Area session={session} area="admin" pages={ADMIN_PAGES} />
      </Route>
      <Route component={NotFound} />
    </Switch>
  );
}

interface AreaProps {
  readonly session: SessionState;
  readonly area: 'account' | 'admin';
  readonly pages: typeof ACCOUNT_PAGES;
}

/** The shell stays while pages change; somebody without a session is asked to sign in and brought back. */
function Area({ session, area, pages }: AreaProps) {
  if (!session.user) return <Redirect to={signInHref()} replace />;
  if (area === 'admin' && session.user.role !== 'admin') return <NotFound />;
  return (
    <Shell area={area}>
      <Suspense fallback={<PageSkeleton />}>
        <Switch>
          {pages.map(([path, page]) => (
            <Route key={path} path={path} component={page} />
          ))}
          <Route component={NotFound} />
        </Switch>
      </Suspense>
    </Shell>
  );
}

function SignedOutOnly({ session, page: Page }: { session: SessionState; page: Lazy }) {
  return session.user ? <Redirect to={nextPath()} replace /> : <Page />;
}
