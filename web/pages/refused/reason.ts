import type { ItemOf } from '../../../src/console/contract/routes.ts';
import type { Strings } from '../../locales/en/index.ts';

type Reasons = Strings['refused']['reasons'];
type KnownReason = keyof Reasons;
type LinkName = keyof Strings['refused']['links'];
/** The pages that the owner of an account can open. */
type OwnLinkName = Exclude<LinkName, 'account' | 'catalog'>;

export interface MendingLink<Name extends LinkName = LinkName> {
  readonly label: Name;
  readonly href: string;
}

const LINKS: Record<KnownReason, OwnLinkName> = {
  insufficient_balance: 'billing',
  request_exceeds_balance: 'billing',
  funds_on_hold: 'billing',
  limit_reached: 'limits',
  max_cost_too_low: 'docs',
  rate_limit_exceeded: 'limits',
  concurrency_limit_exceeded: 'limits',
  unsupported_model: 'models',
  unknown_endpoint: 'models',
  unsupported_endpoint: 'models',
  context_length_exceeded: 'models',
  request_too_large: 'docs',
  invalid_field: 'docs',
  missing_field: 'docs',
  invalid_json: 'docs',
  idempotency_key_reused: 'docs',
  idempotency_answer_gone: 'docs',
  backend_refused: 'receipt',
  other: 'docs',
};

/** A reason that only a newer server knows becomes `other`. */
export function knownReason(reason: string): KnownReason {
  return Object.hasOwn(LINKS, reason) ? (reason as KnownReason) : 'other';
}

type Refusal = Pick<ItemOf<'GET /api/console/refused-calls'>, 'reason' | 'requestId' | 'status'>;

/** The page where the owner of the account can fix it. */
export function ownLink(refusal: Refusal): MendingLink<OwnLinkName> {
  const label = LINKS[knownReason(refusal.reason)];
  return { label, href: hrefOf(label, refusal) };
}

/** The page where the operator can fix it: balances and limits belong to the account, models to the catalog. */
export function operatorLink(refusal: Refusal & { readonly accountId: string }): MendingLink {
  const { label, href } = ownLink(refusal);
  switch (label) {
    case 'billing':
    case 'limits':
      return { label: 'account', href: `/admin/accounts?id=${encodeURIComponent(refusal.accountId)}` };
    case 'models':
      return { label: 'catalog', href: '/admin/catalog' };
    case 'receipt':
      return { label, href: `/admin/requests?id=${encodeURIComponent(refusal.requestId)}` };
    case 'docs':
      return { label, href };
    default:
      return label satisfies never;
  }
}

function hrefOf(label: OwnLinkName, { reason, requestId, status }: Refusal): string {
  switch (label) {
    case 'billing':
      return '/app/billing';
    case 'limits':
      return '/app';
    case 'models':
      return '/app/models';
    case 'receipt':
      return `/app/requests?id=${encodeURIComponent(requestId)}`;
    case 'docs':
      // All reasons of a 402 share one page.
      return `/docs/errors/${status === 402 ? 'payment_required' : encodeURIComponent(reason)}`;
    default:
      return label satisfies never;
  }
}
