import ArrowLeft from 'lucide-react/icons/arrow-left';
import ChevronsUpDown from 'lucide-react/icons/chevrons-up-down';
import LogOut from 'lucide-react/icons/log-out';
import Moon from 'lucide-react/icons/moon';
import Search from 'lucide-react/icons/search';
import Settings from 'lucide-react/icons/settings';
import ShieldCheck from 'lucide-react/icons/shield-check';
import Sun from 'lucide-react/icons/sun';
import { Suspense } from 'react';
import { useLocation } from 'wouter';
import { useApi } from '../lib/api.ts';
import { later } from '../lib/chunk.ts';
import { classes } from '../lib/classes.ts';
import { useSite, useUser, signOut } from '../lib/session.ts';
import { useTheme } from '../lib/theme.ts';
import { useTranslation } from '../lib/translation.tsx';
import { useWallet } from '../lib/wallet.ts';
import { Link } from '../ui/Link.tsx';
import { Logo } from '../ui/Logo.tsx';
import { Menu } from '../ui/Menu.tsx';
import { Money } from '../ui/Money.tsx';
import { isCurrent, type NavGroup } from './navigation.ts';
import { openPalette } from './palette.ts';

interface SidebarProps {
  readonly groups: readonly NavGroup[];
  readonly area: 'account' | 'admin';
  readonly onNavigate?: () => void;
}

export function Sidebar({ groups, area, onNavigate }: SidebarProps) {
  const { t } = useTranslation();
  const site = useSite();
  return (
    <div className="flex h-full flex-col">
      <div className="flex items-center gap-2 px-5 pt-5 pb-4">
        <Link
          href={area === 'admin' ? '/admin' : '/app'}
          onClick={onNavigate}
          className="rounded-sm"
          aria-label={site?.name ?? 'Tollgate'}
        >
          <Logo name={site?.name} />
        </Link>
        {area === 'admin' ? (
          <span className="rounded-sm border border-line px-1.5 text-xs font-medium text-ink-3">
            {t('nav.adminTag')}
          </span>
        ) : null}
      </div>
      <div className="px-3 pb-3">
        <SearchButton />
      </div>
      {area === 'account' ? (
        <Suspense fallback={null}>
          <WalletSwitch />
        </Suspense>
      ) : null}
      <nav aria-label={t('nav.label')} className="thin-scroll min-h-0 flex-1 overflow-y-auto px-3 pb-4">
        {groups.map((group) => (
          <Group key={group.label} group={group} onNavigate={onNavigate} />
        ))}
        <AreaLink area={area} onNavigate={onNavigate} />
      </nav>
      <AccountMenu />
    </div>
  );
}

const WalletSwitch = later(async () => ({ default: (await import('./AccountParts.tsx')).WalletSwitch }));

function Group({ group, onNavigate }: { group: NavGroup; onNavigate: (() => void) | undefined }) {
  const { t } = useTranslation();
  const [location] = useLocation();
  return (
    <div className="mt-4 first:mt-1">
      <p className="px-2 pb-1 text-xs font-medium text-ink-3">{t(`nav.${group.label}`)}</p>
      <ul>
        {group.items.map(({ href, label, icon: Icon }) => {
          const current = isCurrent(href, location);
          return (
            <li key={href}>
              <Link
                href={href}
                onClick={onNavigate}
                aria-current={current ? 'page' : undefined}
                className={classes(
                  'relative flex h-8.5 items-center gap-2.5 rounded-md px-2 transition-colors hover:bg-hover',
                  current ? 'bg-hover font-medium text-ink' : 'text-ink-2',
                )}
              >
                {current ? (
                  <span
                    aria-hidden
                    className="absolute top-1.5 bottom-1.5 -left-3 w-0.75 rounded-r-sm bg-accent"
                  />
                ) : null}
                <Icon size={16} aria-hidden className={current ? 'text-accent' : 'text-ink-3'} />
                {t(`nav.${label}`)}
              </Link>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** Switches between account and administration, for those who may. */
function AreaLink({ area, onNavigate }: { area: 'account' | 'admin'; onNavigate: (() => void) | undefined }) {
  const { t } = useTranslation();
  const user = useUser();
  if (user.role === null) return null;
  const Icon = area === 'admin' ? ArrowLeft : ShieldCheck;
  return (
    <Link
      href={area === 'admin' ? '/app' : '/admin'}
      onClick={onNavigate}
      className="mt-4 flex h-8.5 items-center gap-2.5 rounded-md px-2 text-ink-2 transition-colors hover:bg-hover"
    >
      <Icon size={16} aria-hidden className="text-ink-3" />
      {area === 'admin' ? t('nav.toAccount') : t('nav.toAdmin')}
    </Link>
  );
}

function SearchButton() {
  const { t } = useTranslation();
  return (
    <button
      type="button"
      onClick={openPalette}
      className="flex h-8.5 w-full items-center gap-2.5 rounded-md border border-line bg-surface px-2.5 text-ink-3 transition-colors hover:border-field hover:text-ink-2"
    >
      <Search size={15} aria-hidden />
      <span className="flex-1 text-left">{t('nav.search')}</span>
      <kbd className="rounded-sm border border-line bg-sunken px-1.5 text-xs">
        {IS_APPLE ? '⌘K' : 'Ctrl K'}
      </kbd>
    </button>
  );
}

const IS_APPLE = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** Who is signed in and what is left of the balance, always visible. */
function AccountMenu() {
  const { t } = useTranslation();
  const user = useUser();
  const [, navigate] = useLocation();
  const { dark, choose } = useTheme();
  const { wallet, team } = useWallet();
  const money = useApi(
    'GET /api/console/wallet',
    { query: { wallet } },
    { staleTime: 15_000, enabled: !team || team.rights.includes('see_money') },
  );
  return (
    <div className="border-t border-line p-3">
      <Menu
        trigger={
          <button
            type="button"
            className="flex w-full items-center gap-2.5 rounded-md p-2 text-left transition-colors hover:bg-hover"
          >
            <span
              aria-hidden
              className="grid size-8 shrink-0 place-items-center rounded-md bg-accent-soft font-semibold text-accent"
            >
              {(user.name || user.email).charAt(0).toUpperCase()}
            </span>
            <span className="min-w-0 flex-1">
              <span className="block truncate text-sm font-medium">{user.name || user.email}</span>
              <span className="block text-sm text-ink-3">
                {money.data ? <Money usd={money.data.availableUsd} kind="available" /> : (team?.name ?? '…')}
              </span>
            </span>
            <ChevronsUpDown size={15} className="shrink-0 text-ink-3" aria-hidden />
          </button>
        }
        header={<span className="block max-w-56 truncate text-sm text-ink-3">{user.email}</span>}
        items={[
          {
            id: 'settings',
            label: t('nav.settings'),
            icon: <Settings size={15} aria-hidden />,
            onSelect: () => navigate('/app/settings'),
          },
          {
            id: 'theme',
            label: dark ? t('theme.toLight') : t('theme.toDark'),
            icon: dark ? <Sun size={15} aria-hidden /> : <Moon size={15} aria-hidden />,
            onSelect: () => choose(dark ? 'light' : 'dark'),
          },
          {
            id: 'out',
            label: t('nav.signOut'),
            icon: <LogOut size={15} aria-hidden />,
            onSelect: () => void signOut(),
          },
        ]}
      />
    </div>
  );
}
