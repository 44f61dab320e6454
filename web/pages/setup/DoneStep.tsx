import { useTranslation } from 'react-i18next';
import ArrowRight from 'lucide-react/icons/arrow-right';
import { Link } from 'wouter';

const NEXT = [
  { href: '/app/quickstart', title: 'nextToken', lead: 'nextTokenLead' },
  { href: '/admin/catalog', title: 'nextCatalog', lead: 'nextCatalogLead' },
  { href: '/admin/accounts', title: 'nextAccounts', lead: 'nextAccountsLead' },
] as const;

export function DoneStep() {
  const { t } = useTranslation();
  return (
    <>
      <p className="mb-5 text-ink-2">{t('setup.doneLead')}</p>
      <ul className="divide-y divide-line rounded-lg border border-line bg-surface">
        {NEXT.map(({ href, title, lead }) => (
          <li key={href}>
            <Link
              href={href}
              className="group flex items-center gap-4 px-5 py-4 transition-colors hover:bg-hover"
            >
              <span className="flex-1">
                <span className="block font-medium">{t(`setup.${title}`)}</span>
                <span className="text-ink-3">{t(`setup.${lead}`)}</span>
              </span>
              <ArrowRight
                size={17}
                aria-hidden
                className="text-ink-3 transition-transform group-hover:translate-x-1"
              />
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}
