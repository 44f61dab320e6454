import MenuIcon from 'lucide-react/icons/menu';
import Search from 'lucide-react/icons/search';
import { useEffect, useRef, useState, type ReactNode, type RefObject, Suspense } from 'react';
import { useLocation } from 'wouter';
import { later } from '../lib/chunk.ts';
import { useSite, useUser } from '../lib/session.ts';
import { useTranslation } from '../lib/translation.tsx';
import { useWallet } from '../lib/wallet.ts';
import { IconButton } from '../ui/Button.tsx';
import { Dialog } from '../ui/Dialog.tsx';
import { Logo } from '../ui/Logo.tsx';
import { ErrorBoundary } from './ErrorBoundary.tsx';
import { ACCOUNT_NAV, ADMIN_NAV, operatorNav, teamNav, type NavGroup } from './navigation.ts';
import { openPalette, onPalette } from './palette.ts';
import { Sidebar } from './Sidebar.tsx';

interface ShellProps {
  readonly area: 'account' | 'admin';
  readonly children: ReactNode;
}

/** Sidebar on wide screens, a drawer on narrow ones, and the page beside it. */
export function Shell({ area, children }: ShellProps) {
  const { t } = useTranslation();
  const groups = useNav(area);
  const main = useRef<HTMLElement>(null);
  const [location] = useLocation();
  useFocusOnArrival(main);
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[15rem_minmax(0,1fr)]">
      <a
        href="#content"
        className="sr-only z-50 rounded-md bg-accent px-4 py-2 text-on-accent focus:not-sr-only focus:absolute focus:top-3 focus:left-3"
      >
        {t('nav.skip')}
      </a>
      <aside className="sticky top-0 hidden h-dvh border-r border-line bg-page lg:block">
        <Sidebar groups={groups} area={area} />
      </aside>
      <TopBar area={area} />
      <main ref={main} id="content" tabIndex={-1} className="min-w-0 outline-none">
        {area === 'account' ? (
          <Suspense fallback={null}>
            <Banner />
          </Suspense>
        ) : null}
        <ErrorBoundary at={location}>
          {children}
          <Shortcuts />
        </ErrorBoundary>
      </main>
    </div>
  );
}

function useNav(area: ShellProps['area']): readonly NavGroup[] {
  const { team } = useWallet();
  const { rights } = useUser();
  if (area === 'admin') return operatorNav(rights);
  return team ? teamNav(team.rights) : ACCOUNT_NAV;
}

function TopBar({ area }: { area: 'account' | 'admin' }) {
  const { t } = useTranslation();
  const groups = useNav(area);
  const site = useSite();
  const [location] = useLocation();
  // Tied to one location, so that navigating by any means closes it.
  const [openAt, setOpenAt] = useState<string>();
  const open = openAt === location;
  const setOpen = (next: boolean): void => setOpenAt(next ? location : undefined);
  return (
    <header className="sticky top-0 z-20 flex h-13 items-center gap-2 border-b border-line bg-page px-3 lg:hidden">
      <IconButton
        label={t('nav.menu')}
        onClick={() => setOpen(true)}
        aria-expanded={open}
        className="size-10"
      >
        <MenuIcon size={19} aria-hidden />
      </IconButton>
      <div className="flex-1">
        <Logo name={site?.name} />
      </div>
      <IconButton label={t('nav.search')} onClick={openPalette} className="size-10">
        <Search size={18} aria-hidden />
      </IconButton>
      <Dialog open={open} onClose={() => setOpen(false)} title={t('nav.menu')} kind="drawer" hideTitle>
        <Sidebar groups={groups} area={area} onNavigate={() => setOpen(false)} />
      </Dialog>
    </header>
  );
}

/** A new page is announced and read from its beginning, as if the browser had loaded it. */
function useFocusOnArrival(main: RefObject<HTMLElement | null>): void {
  const [location] = useLocation();
  const before = useRef(location);
  useEffect(() => {
    if (before.current === location) return;
    before.current = location;
    main.current?.focus({ preventScroll: true });
  }, [location, main]);
}

const Banner = later(async () => ({ default: (await import('./AccountParts.tsx')).Banner }));
const Palette = later(() => import('./Palette.tsx'));
const SEQUENCE_MS = 1000;

/** ⌘K opens the palette; `g` and a letter go to a page. Keys typed into a field stay there. */
function Shortcuts() {
  const [, navigate] = useLocation();
  const [open, setOpen] = useState(false);
  useEffect(() => onPalette(setOpen), []);
  useEffect(() => {
    let startedAt = 0;
    const onKey = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        setOpen((now) => !now);
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
      if (event.key === 'g') startedAt = event.timeStamp;
      else if (event.timeStamp - startedAt < SEQUENCE_MS) {
        startedAt = 0;
        const href = HREF_BY_KEY.get(event.key);
        if (href) navigate(href);
      }
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [navigate]);
  return open ? (
    <Suspense fallback={null}>
      <Palette onClose={() => setOpen(false)} />
    </Suspense>
  ) : null;
}

const HREF_BY_KEY = new Map(
  [...ACCOUNT_NAV, ...ADMIN_NAV].flatMap((group) =>
    group.items.map((item) => [item.key, item.href] as const),
  ),
);

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
      target.closest('dialog') !== null)
  );
}
