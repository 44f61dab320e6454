import type { ReactNode } from 'react';
import { useSession } from '../lib/session.ts';
import { useTranslation } from '../lib/translation.tsx';
import { LinkButton, IconButton } from '../ui/Button.tsx';
import { Link } from '../ui/Link.tsx';
import { Logo } from '../ui/Logo.tsx';
import Moon from 'lucide-react/icons/moon';
import Sun from 'lucide-react/icons/sun';
import { chooseLanguage } from '../lib/i18n.ts';
import { useTheme } from '../lib/theme.ts';

/** The frame of pages that anybody may see. */
export function PublicShell({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  const session = useSession().data;
  // Until this is known, nothing links to pages that may be off.
  const hasPublicPages = session?.site.publicPages === true;
  return (
    <div className="flex min-h-dvh flex-col">
      <header className="sticky top-0 z-20 border-b border-line bg-page">
        <div className="mx-auto flex h-14 max-w-[76rem] items-center gap-1 px-4 sm:gap-2 sm:px-8">
          <Link href="/" className="mr-auto flex rounded-sm" aria-label={session?.site.name ?? 'Tollgate'}>
            <Logo name={session?.site.name} />
          </Link>
          <nav aria-label={t('nav.label')} className="flex items-center gap-1">
            {hasPublicPages ? (
              <>
                <RenderedPage href="/models">{t('nav.models')}</RenderedPage>
                <RenderedPage href="/status">{t('public.statusTitle')}</RenderedPage>
              </>
            ) : null}
            <LinkButton kind="ghost" href="/docs" className="max-sm:px-2.5">
              {t('nav.docs')}
            </LinkButton>
            <span className="hidden items-center sm:inline-flex">
              <LanguageButton />
              <ThemeButton />
            </span>
            {session?.user ? (
              <LinkButton kind="primary" href="/app">
                {t('nav.console')}
              </LinkButton>
            ) : (
              <LinkButton href="/sign-in">{t('nav.signIn')}</LinkButton>
            )}
          </nav>
        </div>
      </header>
      <main className="flex-1">{children}</main>
      <footer className="border-t border-line">
        <div className="mx-auto flex max-w-[76rem] flex-wrap items-center gap-x-6 gap-y-2 px-4 py-6 text-sm text-ink-3 sm:px-8">
          <span className="mr-auto">
            Tollgate {session?.site.version ?? ''} · {t('public.footer')}
          </span>
          <span className="inline-flex items-center sm:hidden">
            <LanguageButton />
            <ThemeButton />
          </span>
          {hasPublicPages ? (
            <a href="/status" className="hover:text-ink">
              {t('public.statusTitle')}
            </a>
          ) : null}
          <Link href="/docs/errors" className="hover:text-ink">
            {t('docs.errors')}
          </Link>
          {hasPublicPages ? (
            <a href="/llms.txt" className="hover:text-ink">
              llms.txt
            </a>
          ) : null}
          <a href="/api/public/v1/openapi.json" className="hover:text-ink">
            openapi.json
          </a>
        </div>
      </footer>
    </div>
  );
}

/** A link to a page that the server renders; there is no room for it on a phone. */
function RenderedPage({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  return (
    <a
      href={href}
      className="hidden h-9 items-center rounded-md px-3 text-ink-2 hover:bg-hover hover:text-ink sm:inline-flex"
    >
      {children}
    </a>
  );
}

export function ThemeButton() {
  const { t } = useTranslation();
  const { dark, choose } = useTheme();
  return (
    <IconButton
      label={dark ? t('theme.toLight') : t('theme.toDark')}
      onClick={() => choose(dark ? 'light' : 'dark')}
      className="size-9"
    >
      {dark ? <Sun size={16} aria-hidden /> : <Moon size={16} aria-hidden />}
    </IconButton>
  );
}

/** Names the language it leads to, in that language. */
export function LanguageButton() {
  const { i18n } = useTranslation();
  const other = i18n.language === 'de' ? 'en' : 'de';
  return (
    <button
      type="button"
      lang={other}
      aria-label={other === 'de' ? 'DE: Deutsch' : 'EN: English'}
      onClick={() => void chooseLanguage(other)}
      className="inline-grid size-9 place-items-center rounded-md text-sm font-medium text-ink-2 transition-colors hover:bg-hover hover:text-ink"
    >
      {other.toUpperCase()}
    </button>
  );
}
