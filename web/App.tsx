import { QueryClientProvider } from '@tanstack/react-query';
import { Suspense, useEffect } from 'react';
import { useLocation } from 'wouter';
import type { SignedInUser } from './lib/answers.ts';
import { adoptLanguage } from './lib/i18n.ts';
import { tellPublicUrl, publicOrigin } from './lib/browser.ts';
import { makeQueryClient } from './lib/query.ts';
import { useFreshStart, useSession } from './lib/session.ts';
import { adoptTheme } from './lib/theme.ts';
import { TranslationProvider, useTranslation } from './lib/translation.tsx';
import { Routes } from './Routes.tsx';
import { ConfirmProvider } from './shell/ConfirmProvider.tsx';
import { ConnectionNotice } from './shell/ConnectionNotice.tsx';
import { ErrorBoundary } from './shell/ErrorBoundary.tsx';
import { SignInAgain } from './shell/SignInAgain.tsx';
import { Splash } from './shell/Loading.tsx';
import { ErrorState } from './ui/States.tsx';
import { Toasts } from './ui/Toast.tsx';
import { Logo } from './ui/Logo.tsx';

const client = makeQueryClient();

export function App() {
  return (
    <QueryClientProvider client={client}>
      <TranslationProvider>
        <ConfirmProvider>
          <ErrorBoundary>
            <Gate />
          </ErrorBoundary>
        </ConfirmProvider>
        <SignInAgain />
        <ConnectionNotice />
        <Toasts />
      </TranslationProvider>
    </QueryClientProvider>
  );
}

/** Loads the session first: every page depends on who is signed in and whether the server has been set up. */
function Gate() {
  const session = useSession();
  useFreshStart();
  usePreferencesOf(session.data?.user);
  const [location] = useLocation();
  useEffect(() => {
    scrollTo(0, 0);
  }, [location]);
  if (session.error && !session.data) {
    return (
      <div className="mx-auto max-w-2xl px-4 py-24">
        <ErrorState error={session.error} onRetry={() => void session.refetch()} />
      </div>
    );
  }
  if (!session.data) return <Splash />;
  tellPublicUrl(session.data.site.publicUrl);
  if (session.data.setupNeeded && !/^\/(setup|docs)\b/.test(location)) return <SetupNeeded />;
  return (
    <Suspense fallback={<Splash />}>
      <Routes session={session.data} />
    </Suspense>
  );
}

/** On a device without its own settings, the account's language and theme apply. */
function usePreferencesOf(user: SignedInUser | null | undefined): void {
  const theme = user?.theme;
  const language = user?.language;
  useEffect(() => {
    if (theme) adoptTheme(theme);
    if (language) void adoptLanguage(language);
  }, [theme, language]);
}

/** Shown until this server has been set up, which only somebody who can read its output may begin. */
function SetupNeeded() {
  const { t } = useTranslation();
  return (
    <main className="mx-auto flex min-h-dvh max-w-xl flex-col justify-center gap-5 px-6 py-16">
      <Logo />
      <h1 className="text-2xl font-semibold tracking-tight">{t('setup.neededTitle')}</h1>
      <p className="text-ink-2">{t('setup.neededLead')}</p>
      <code className="rounded-md border border-line bg-surface p-4 break-all">{publicOrigin()}/setup/…</code>
      <p className="text-ink-3">{t('setup.neededHint')}</p>
    </main>
  );
}
