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
import Tags from 'lucide-react/icons/tags';
import Ticket from 'lucide-react/icons/ticket';
import TrendingUp from 'lucide-react/icons/trending-up';
import UserCog from 'lucide-react/icons/user-cog';
import Users from 'lucide-react/icons/users';
import Waypoints from 'lucide-react/icons/waypoints';
import Webhook from 'lucide-react/icons/webhook';
import type { SessionState } from '../lib/answers.ts';
import type { Strings } from '../locales/en/index.ts';

interface NavItem {
  readonly href: string;
  readonly label: keyof Strings['nav'];
  readonly icon: LucideIcon;
  /** Pressed after `g`. */
  readonly key?: string;
  /** The page shows the own account only. */
  readonly own?: true;
  /** The right that a role in a team must include for the team's. */
  readonly teamRight?: TeamRight;
  /** The right that an operator's role must include; absent: seeing customers. */
  readonly right?: OperatorRight;
}

type User = NonNullable<SessionState['user']>;
type OperatorRight = User['rights'][number];
type TeamRight = NonNullable<User['team']>['rights'][number];

export interface NavGroup {
  readonly label: keyof Strings['nav'];
  readonly items: readonly NavItem[];
}

const TEAM: NavItem = { href: '/app/team', label: 'team', icon: Users, key: 't' };

export const ACCOUNT_NAV: readonly NavGroup[] = [
  {
    label: 'use',
    items: [
      { href: '/app', label: 'overview', icon: Gauge, key: 'o', own: true },
      { href: '/app/playground', label: 'playground', icon: MessageSquare, key: 'p' },
      { href: '/app/images', label: 'images', icon: Images, key: 'i' },
      { href: '/app/models', label: 'models', icon: Layers, key: 'm' },
    ],
  },
  {
    label: 'track',
    items: [
      { href: '/app/usage', label: 'usage', icon: ChartColumn, key: 'u', own: true },
      { href: '/app/requests', label: 'requests', icon: List, key: 'r', own: true },
      { href: '/app/refused', label: 'refused', icon: Ban, own: true },
      { href: '/app/billing', label: 'billing', icon: ReceiptText, key: 'b' },
      { href: '/app/statements', label: 'statements', icon: FileText },
    ],
  },
  {
    label: 'connect',
    items: [
      { href: '/app/quickstart', label: 'quickstart', icon: SquareTerminal, key: 'q' },
      { href: '/app/key', label: 'key', icon: KeyRound, key: 'k' },
      TEAM,
      { href: '/app/webhooks', label: 'webhooks', icon: Webhook, key: 'w', teamRight: 'change_webhooks' },
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
      { href: '/admin/backends', label: 'adminBackends', icon: ServerCog, right: 'see_business' },
      { href: '/admin/prices', label: 'adminPrices', icon: Tags, right: 'see_business' },
      { href: '/admin/catalog', label: 'adminCatalog', icon: Boxes, right: 'see_business' },
      { href: '/admin/requests', label: 'adminRequests', icon: List },
      { href: '/admin/refused', label: 'adminRefused', icon: Ban },
    ],
  },
  {
    label: 'people',
    items: [
      { href: '/admin/accounts', label: 'adminAccounts', icon: Users },
      { href: '/admin/codes', label: 'adminCodes', icon: Ticket },
      { href: '/admin/operators', label: 'adminOperators', icon: UserCog, right: 'see_business' },
    ],
  },
  {
    label: 'books',
    items: [
      { href: '/admin/margin', label: 'adminMargin', icon: TrendingUp, right: 'see_business' },
      { href: '/admin/payments', label: 'adminPayments', icon: CreditCard, right: 'see_business' },
      { href: '/admin/ledger', label: 'adminLedger', icon: Scale },
      { href: '/admin/messages', label: 'adminMessages', icon: Send },
      { href: '/admin/audit', label: 'adminAudit', icon: FileClock, right: 'see_business' },
      { href: '/admin/settings', label: 'adminSettings', icon: Settings, right: 'see_business' },
    ],
  },
];

/** The pages that a role can see; none for a customer. */
export function operatorNav(rights: readonly OperatorRight[]): NavGroup[] {
  return ADMIN_NAV.map(({ label, items }) => ({
    label,
    items: items.filter(({ right = 'see_customers' }) => rights.includes(right)),
  })).filter(({ items }) => items.length > 0);
}

/** The pages that can show a team's account. Its own page is the overview, and comes first. */
export function teamNav(rights: readonly TeamRight[]): NavGroup[] {
  return ACCOUNT_NAV.map(({ label, items }, index) => {
    const isOthers = ({ own, teamRight }: NavItem): boolean =>
      !own && (teamRight === undefined || rights.includes(teamRight));
    const others = items.filter((item) => isOthers(item) && item !== TEAM);
    return { label, items: index === 0 ? [TEAM, ...others] : others };
  });
}

/** Whether a page can show a team's account. */
export function isTeamPage(location: string): boolean {
  return !ACCOUNT_NAV.some(({ items }) => items.some(({ own, href }) => own && isCurrent(href, location)));
}

/** `/app` matches only itself; the others also match the pages below them. */
export function isCurrent(href: string, location: string): boolean {
  return href === '/app' || href === '/admin'
    ? location === href
    : location === href || location.startsWith(`${href}/`);
}
