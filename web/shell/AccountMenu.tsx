import ChevronsUpDown from 'lucide-react/icons/chevrons-up-down';
import LogOut from 'lucide-react/icons/log-out';
import Moon from 'lucide-react/icons/moon';
import Settings from 'lucide-react/icons/settings';
import Sun from 'lucide-react/icons/sun';
import { useLocation } from 'wouter';
import { useApi } from '../lib/api.ts';
import { signOut, useUser } from '../lib/session.ts';
import { useTheme } from '../lib/theme.ts';
import { useTranslation } from '../lib/translation.tsx';
import { Menu } from '../ui/Menu.tsx';
import { Money } from '../ui/Money.tsx';

/** Who is signed in and what is left, always in sight. */
export function AccountMenu() {
  const { t } = useTranslation();
  const user = useUser();
  const [, navigate] = useLocation();
  const { dark, choose } = useTheme();
  const overview = useApi('GET /api/console/overview', undefined, { staleTime: 15_000 });
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
                {overview.data ? <Money usd={overview.data.availableUsd} /> : '…'}
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
