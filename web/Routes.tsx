import { Suspense, useEffect, useState, type ComponentType } from 'react';
import { Redirect, Route, Switch } from 'wouter';
import type { SessionState } from './lib/answers.ts';
import { later, loadChunk, loadAhead } from './lib/chunk.ts';
import { loadTexts } from './lib/i18n.ts';
import { nextPath, signInHref } from './lib/nextPath.ts';
import { PageSkeleton, Splash } from './shell/Loading.tsx';
import { Shell } from './shell/Shell.tsx';
import { useTitle } from './lib/session.ts';
import { useTranslation } from './lib/translation.tsx';
import { LinkButton } from './ui/Button.tsx';
import { Empty } from './ui/States.tsx';

/** Pages that are loaded together, as one chunk. */
interface PageGroup<Names extends string> {
  readonly load: () => Promise<Record<Names, ComponentType>>;
  readonly loaded: () => Record<Names, ComponentType> | undefined;
}

function group<Names extends string>(fetched: () => Promise<Record<Names, ComponentType>>): PageGroup<Names> {
  let pages: Record<Names, ComponentType> | undefined;
  return { load: async () => (pages = await fetched()), loaded: () => pages };
}

/** The first load fetches the shell and one group of pages; others follow when nothing else is done, or when they are opened. */
const accountPages = group(() => import('./pages/accountPages.ts'));
const playgroundPages = group(
  async () => (await Promise.all([import('./pages/playgroundPages.ts'), loadTexts('playground')]))[0],
);
/** Most people are in no team: its page is loaded when it is opened, and its texts, in which limits are described, with the token's. */
const teamPages = group(async () => {
  const [{ default: TeamPage }] = await Promise.all([import('./pages/team/TeamPage.tsx'), loadTexts('team')]);
  return { TeamPage };
});
/** Seldom opened, and with passkeys, two-factor sign-in and the code to scan a tenth of all pages of an account. */
const settingsPages = group(async () => {
  const { default: SettingsPage } = await import('./pages/settings/SettingsPage.tsx');
  return { SettingsPage };
});
/** Programs are told of events by few accounts. */
const webhookPages = group(async () => {
  const { default: WebhooksPage } = await import('./pages/webhooks/WebhooksPage.tsx');
  return { WebhooksPage };
});
const keyPages = group(async () => (await Promise.all([accountPages.load(), loadTexts('team')]))[0]);
const adminPages = group(
  async () => (await Promise.all([import('./pages/adminPages.ts'), loadTexts('operator')]))[0],
);
/** Seldom opened, with the forms of everything that an operator can set. */
const adminSettingsPages = group(async () => {
  const [{ default: AdminSettingsPage }] = await Promise.all([
    import('./pages/admin/settings/AdminSettingsPage.tsx'),
    loadTexts('operator'),
  ]);
  return { AdminSettingsPage };
});
const catalogPages = group(
  async () => (await Promise.all([import('./pages/catalogPages.ts'), loadTexts('operator')]))[0],
);
const entryPages = group(() => import('./pages/entryPages.ts'));

/**
 * A page is rendered as soon as its group is loaded, at once if it is. With `lazy`, React would keep the fallback on screen
 * for 300 ms, so that nothing flickers, however soon the page is there.
 */
function page<Names extends string>(
  pages: PageGroup<Names>,
  name: NoInfer<Names>,
  Waiting: ComponentType = PageSkeleton,
): ComponentType {
  return function PageOfGroup() {
    const [Page, show] = useState((): ComponentType | undefined => pages.loaded()?.[name]);
    const [failure, fail] = useState<Error>();
    useEffect(() => {
      if (Page) return;
      loadChunk(pages.load).then(
        (loaded) => show(() => loaded[name]),
        (error: unknown) => fail(error instanceof Error ? error : new Error(String(error))),
      );
    }, [Page]);
    // To be told like any other error of a page.
    if (failure) throw failure;
    return Page ? <Page /> : <Waiting />;
  };
}

const ACCOUNT_PAGES: readonly (readonly [path: string, page: ComponentType])[] = [
  ['/app', page(accountPages, 'OverviewPage')],
  ['/app/quickstart', page(accountPages, 'QuickstartPage')],
  ['/app/key', page(keyPages, 'KeyPage')],
  ['/app/playground', page(playgroundPages, 'PlaygroundPage')],
  ['/app/images', page(playgroundPages, 'ImagesPage')],
  ['/app/models', page(accountPages, 'ModelsPage')],
  ['/app/models/:endpoint/:model', page(accountPages, 'ModelPage')],
  ['/app/usage', page(accountPages, 'UsagePage')],
  ['/app/requests', page(accountPages, 'RequestsPage')],
  ['/app/refused', page(accountPages, 'RefusedCallsPage')],
  ['/app/billing', page(accountPages, 'BillingPage')],
  ['/app/statements', page(accountPages, 'StatementsPage')],
  ['/app/team', page(teamPages, 'TeamPage')],
  ['/app/webhooks', page(webhookPages, 'WebhooksPage')],
  ['/app/settings', page(settingsPages, 'SettingsPage')],
];

const ADMIN_PAGES: readonly (readonly [path: string, page: ComponentType])[] = [
  ['/admin', page(adminPages, 'AdminOverviewPage')],
  ['/admin/traffic', page(adminPages, 'TrafficPage')],
  ['/admin/accounts', page(adminPages, 'AccountsPage')],
  ['/admin/operators', page(adminPages, 'OperatorsPage')],
  ['/admin/codes', page(adminPages, 'CodesPage')],
  ['/admin/requests', page(adminPages, 'AdminRequestsPage')],
  ['/admin/refused', page(adminPages, 'AdminRefusedCallsPage')],
  ['/admin/prices', page(catalogPages, 'PricesPage')],
  ['/admin/catalog', page(catalogPages, 'CatalogPage')],
  ['/admin/backends', page(catalogPages, 'BackendsPage')],
  ['/admin/backends/new', page(catalogPages, 'NewBackendPage')],
  ['/admin/backends/:name', page(catalogPages, 'EditBackendPage')],
  ['/admin/margin', page(adminPages, 'MarginPage')],
  ['/admin/payments', page(adminPages, 'PaymentsPage')],
  ['/admin/ledger', page(adminPages, 'LedgerPage')],
  ['/admin/messages', page(adminPages, 'MessagesPage')],
  ['/admin/audit', page(adminPages, 'AuditPage')],
  ['/admin/settings', page(adminSettingsPages, 'AdminSettingsPage')],
];

/** What the navigation of an area leads to, but for what few people open. */
const NAVIGATED = { account: [accountPages], admin: [adminPages, catalogPages] } as const;

const PublicPage = page(entryPages, 'PublicPage', Splash);
const SignInPage = page(entryPages, 'SignInPage', Splash);
const SignUpPage = page(entryPages, 'SignUpPage', Splash);
const ResetPasswordPage = page(entryPages, 'ResetPasswordPage', Splash);
const ForgotPasswordPage = page(entryPages, 'ForgotPasswordPage', Splash);
const VerifyEmailPage = page(entryPages, 'VerifyEmailPage', Splash);
// Opened once, or by a link: strangers at the first page do not wait for them.
const SharedReceiptPage = later(() => import('./pages/requests/SharedReceiptPage.tsx'));
const SetupPage = later(() => import('./pages/setup/SetupPage.tsx'));
const DocsPage = later(() => import('./pages/docs/DocsPage.tsx'));

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
      <Route path="/reset-password" component={ResetPasswordPage} />
      <Route path="/forgot-password" component={ForgotPasswordPage} />
      <Route path="/verify-email" component={VerifyEmailPage} />
      <Route path="/receipt" component={SharedReceiptPage} />
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

/** The shell stays while pages change; without a session, the user is asked to sign in and then sent back. */
function Area({ session, area, pages }: AreaProps) {
  const isOpen = session.user !== null && (area === 'account' || session.user.role !== null);
  useEffect(() => (isOpen ? loadAhead(NAVIGATED[area].map(({ load }) => load)) : undefined), [area, isOpen]);
  if (!session.user) return <Redirect to={signInHref()} replace />;
  if (area === 'admin' && session.user.role === null) return <NotFound />;
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

function SignedOutOnly({ session, page: Page }: { session: SessionState; page: ComponentType }) {
  return session.user ? <Redirect to={nextPath()} replace /> : <Page />;
}

function NotFound() {
  const { t } = useTranslation();
  useTitle(t('errors.notFound'));
  return (
    <div className="py-16">
      <h1 className="sr-only">{t('errors.notFound')}</h1>
      <Empty
        title={t('errors.notFound')}
        action={
          <>
            <LinkButton href="/app" kind="primary">
              {t('nav.overview')}
            </LinkButton>
            <LinkButton href="/docs">{t('nav.docs')}</LinkButton>
          </>
        }
      >
        {t('errors.notFoundLead')}
      </Empty>
    </div>
  );
}
