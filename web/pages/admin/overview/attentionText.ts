import type { TFunction } from 'i18next';
import type { AdminAttention } from '../../../lib/answers.ts';
import { formatUsd } from '../../../lib/money.ts';
import { hrefWith } from '../../../lib/search.ts';
import { formatRelative } from '../../../lib/time.ts';
import type { Strings } from '../../../locales/en/index.ts';
import { knownReason } from '../../refused/reason.ts';

type AttentionItem = AdminAttention['items'][number];

type LinkName = keyof Strings['attention']['links'];
type FailureReason = keyof Strings['attention']['reasons'];
type Kind = AttentionItem['kind'];
type ItemOf<One extends Kind> = Extract<AttentionItem, { kind: One }>;

interface Said {
  readonly text: string;
  readonly link: LinkName;
  readonly href: string;
}

interface SayingParts {
  readonly t: TFunction;
  readonly language: string;
  readonly now: number;
}

/** The sentence about something that needs attention, and where to fix it. */
export function sayAttention(item: AttentionItem, parts: SayingParts): Said {
  // Each function takes the item of its kind, which the compiler cannot follow through the lookup.
  const say = SENTENCES[item.kind] as (item: AttentionItem, parts: SayingParts) => Said;
  return say(item, parts);
}

const backends = (text: string): Said => ({ text, link: 'backends', href: '/admin/backends' });
const codes = (text: string): Said => ({ text, link: 'codes', href: '/admin/codes' });
const webhooks = (text: string): Said => ({ text, link: 'webhooks', href: '/admin/messages' });
const payments = (text: string, href: string): Said => ({ text, link: 'payments', href });
const account = (text: string, id: string): Said => ({
  text,
  link: 'account',
  href: hrefWith('/admin/accounts', { id }),
});

const SENTENCES: { readonly [One in Kind]: (item: ItemOf<One>, parts: SayingParts) => Said } = {
  catalog_rejected: ({ error }, { t }) => ({
    text: t('attention.catalog_rejected', { error }),
    link: 'catalog',
    href: '/admin/catalog',
  }),
  ledger_breach: ({ rules }, { t }) => ({
    text: t('attention.ledger_breach', { rules }),
    link: 'ledger',
    href: '/admin/ledger',
  }),
  backend_down({ backend, reason }, { t }) {
    const why = knownFailure(reason, t);
    if (why === undefined) return backends(t('attention.backend_down', { backend }));
    return backends(t('attention.backend_down_why', { backend, reason: why }));
  },
  backend_key_refused: ({ backend }, { t }) => ({
    text: t('attention.backend_key_refused', { backend }),
    link: 'keys',
    href: '/admin/catalog?view=keys',
  }),
  backend_out_of_credit: ({ backend }, { t }) => backends(t('attention.backend_out_of_credit', { backend })),
  backend_unusable: ({ backend, problem }, { t }) =>
    backends(t('attention.backend_unusable', { backend, problem })),
  backend_test_failed: ({ backend }, { t }) => backends(t('attention.backend_test_failed', { backend })),
  backend_paused: ({ backend }, { t }) => backends(t('attention.backend_paused', { backend })),
  certificate_ends({ at }, { t, language, now }) {
    const when = formatRelative(at, now, language);
    const text =
      at > now ? t('attention.certificate_ends', { when }) : t('attention.certificate_ended', { when });
    return { text, link: 'certificate', href: '/docs/self-hosting' };
  },
  settlements_waiting: ({ count }, { t }) => ({
    text: t('attention.settlements_waiting', { count }),
    link: 'requests',
    href: '/admin/requests?state=pending',
  }),
  margin_below_zero({ by, key, lossUsd }, { t, language }) {
    const values = { key, amount: formatUsd(lossUsd, language) };
    const text = key === '' ? t('attention.margin_of_none', values) : t(`attention.margin_of_${by}`, values);
    return { text, link: 'margin', href: `/admin/margin?by=${by}&days=7` };
  },
  balance_empty: ({ accountId, email, more }, { t }) =>
    account(
      more === 0
        ? t('attention.balance_empty', { email })
        : t('attention.balance_empty_more', { email, count: more }),
      accountId,
    ),
  balance_ends({ accountId, email, balanceUsd, perDayUsd, more }, { t, language }) {
    const values = {
      email,
      balance: formatUsd(balanceUsd, language),
      perDay: formatUsd(perDayUsd, language),
    };
    if (more === 0) return account(t('attention.balance_ends', values), accountId);
    return account(t('attention.balance_ends_more', { ...values, count: more }), accountId);
  },
  payments_failed: ({ count }, { t }) =>
    payments(t('attention.payments_failed', { count }), '/admin/payments'),
  payment_problems: ({ count }, { t }) =>
    payments(t('attention.payment_problems', { count }), '/admin/payments?show=problems'),
  messages_failed: ({ channel, count }, { t }) => ({
    text:
      channel === 'mail' ? t('attention.mails_failed', { count }) : t('attention.webhooks_failed', { count }),
    link: 'messages',
    href: '/admin/messages?state=failed',
  }),
  webhook_paused: ({ url }, { t }) => webhooks(t('attention.webhook_paused', { url })),
  webhook_secret_ends: ({ url, at }, { t, language, now }) =>
    webhooks(t('attention.webhook_secret_ends', { url, when: formatRelative(at, now, language) })),
  calls_refused: ({ reason, count }, { t }) => ({
    text: t('attention.calls_refused', { count, reason: t(`refused.reasons.${knownReason(reason)}.title`) }),
    link: 'refused',
    href: hrefWith('/admin/refused', { reason }),
  }),
  invites_end: ({ count, at }, { t, language, now }) =>
    codes(t('attention.invites_end', { count, when: formatRelative(at, now, language) })),
  codes_end: ({ count, batch, at }, { t, language, now }) =>
    codes(t('attention.codes_end', { count, batch, when: formatRelative(at, now, language) })),
};

const FAILURES: readonly FailureReason[] = [
  'connect', 'overloaded', 'connection_lost', 'timeout', 'rate_limited', 'unauthorized', 'out_of_credit', 'forbidden',
  'not_found', 'rejected', 'server', 'protocol',
]; // prettier-ignore

/** The reason in words, to be put after a colon. */
export function knownFailure(reason: string | null, t: TFunction): string | undefined {
  const known = FAILURES.find((one) => one === reason);
  return known && t(`attention.reasons.${known}`);
}
