import type { LucideIcon } from 'lucide-react';
import Ban from 'lucide-react/icons/ban';
import BookOpen from 'lucide-react/icons/book-open';
import Boxes from 'lucide-react/icons/boxes';
import ChartColumn from 'lucide-react/icons/chart-column';
import CreditCard from 'lucide-react/icons/credit-card';
import FileClock from 'lucide-react/icons/file-clock';
import FileText from 'lucide-react/icons/file-text';
import Gauge from 'lucide-react/icons/gauge';
import Images from 'lucide-react/icons/images';
import KeyRound from 'lucide-react/icons/key-round';
import Layers from 'lucide-react/icons/layers';
import List from 'lucide-react/icons/list';
import MessageSquare from 'lucide-react/icons/message-square';
import ReceiptText from 'lucide-react/icons/receipt-text';
import Scale from 'lucide-react/icons/scale';
import Send from 'lucide-react/icons/send';
import ServerCog from 'lucide-react/icons/server-cog';
import Settings from 'lucide-react/icons/settings';
import SquareTerminal from 'lucide-react/icons/square-terminal';
import Ticket from 'lucide-react/icons/ticket';
import TrendingUp from 'lucide-react/icons/trending-up';
import Users from 'lucide-react/icons/users';
import Waypoints from 'lucide-react/icons/waypoints';
import Webhook from 'lucide-react/icons/webhook';
import type { Strings } from '../locales/en/index.ts';

interface NavItem {
  readonly href: string;
  readonly label: keyof Strings['nav'];
  readonly icon: LucideIcon;
  /** Pressed after `g`. */
  readonly key?: string;
}

export interface NavGroup {
  readonly label: keyof Strings['nav'];
  readonly items: readonly NavItem[];
}

export const ACCOUNT_NAV: readonly NavGroup[] = [
  {
    label: 'use',
    items: [
      { href: '/app', label: 'overview', icon: Gauge, key: 'o' },
      { href: '/app/playground', label: 'playground', icon: MessageSquare, key: 'p' },
      { href: '/app/images', label: 'images', icon: Images, key: 'i' },
      { href: '/app/models', label: 'models', icon: Layers, key: 'm' },
    ],
  },
  {
    label: 'track',
    items: [
      { href: '/app/usage', label: 'usage', icon: ChartColumn, key: 'u' },
      { href: '/app/requests', label: 'requests', icon: List, key: 'r' },
      { href: '/app/refused', label: 'refused', icon: Ban },
      { href: '/app/billing', label: 'billing', icon: ReceiptText, key: 'b' },
      { href: '/app/statements', label: 'statements', icon: FileText },
    ],
  },
  {
    label: 'connect',
    items: [
      { href: '/app/quickstart', label: 'quickstart', icon: SquareTerminal, key: 'q' },
      { href: '/app/key', label: 'key', icon: KeyRound, key: 'k' },
      { href: '/app/team', label: 'team', icon: Users, key: 't' },
      { href: '/app/webhooks', label: 'webhooks', icon: Webhook, key: 'w' },
      { href: '/docs', label: 'docs', icon: BookOpen, key: 'd' },
      { href: '/app/settings', label: 'settings', icon: Settings, key: 's' },
    ],
  },
];

export const ADMIN_NAV: readonly NavGroup[] = [
  {
    label: 'operate',
    items: [
      { href: '/admin', label: 'adminOverview', icon: Gauge, key: 'a' },
      { href: '/admin/traffic', label: 'adminTraffic', icon: Waypoints },
      { href: '/admin/backends', label: 'adminBackends', icon: ServerCog },
      { href: '/admin/catalog', label: 'adminCatalog', icon: Boxes },
      { href: '/admin/requests', label: 'adminRequests', icon: List },
      { href: '/admin/refused', label: 'adminRefused', icon: Ban },
    ],
  },
  {
    label: 'people',
    items: [
      { href: '/admin/accounts', label: 'adminAccounts', icon: Users },
      { href: '/admin/codes', label: 'adminCodes', icon: Ticket },
    ],
  },
  {
    label: 'books',
    items: [
      { href: '/admin/margin', label: 'adminMargin', icon: TrendingUp },
      { href: '/admin/payments', label: 'adminPayments', icon: CreditCard },
      { href: '/admin/ledger', label: 'adminLedger', icon: Scale },
      { href: '/admin/messages', label: 'adminMessages', icon: Send },
      { href: '/admin/audit', label: 'adminAudit', icon: FileClock },
      { href: '/admin/settings', label: 'adminSettings', icon: Settings },
    ],
  },
];

/** `/app` matches only itself; the others also match the pages below them. */
export function isCurrent(href: string, location: string): boolean {
  return href === '/app' || href === '/admin'
    ? location === href
    : location === href || location.startsWith(`${href}/`);
}
