import ArrowRight from 'lucide-react/icons/arrow-right';
import type { ModelItem } from '../../../src/console/contract.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Link } from '../../ui/Link.tsx';
import { GUIDE } from './CallStep.tsx';

const NEXT = [
  { href: '/admin/backends/new', title: 'backend', lead: 'backendLead' },
  { href: '/app', title: 'demo', lead: 'demoLead' },
  { href: '/admin/accounts', title: 'people', lead: 'peopleLead' },
] as const;

/** Says honestly what has answered so far, and where to go from here. */
export function NextStep({ model }: { model: ModelItem | null | undefined }) {
  const { t } = useTranslation();
  return (
    <>
      {model ? (
        <p className="mb-4 max-w-2xl text-ink-2">
          {model.model === GUIDE
            ? t('firstRun.nextLead')
            : t('firstRun.nextReal', { model: model.displayName })}
        </p>
      ) : null}
      <ul className="max-w-2xl divide-y divide-line rounded-lg border border-line bg-surface">
        {NEXT.map(({ href, title, lead }) => (
          <li key={href}>
            <Link
              href={href}
              className="group flex items-center gap-4 px-5 py-4 transition-colors hover:bg-hover"
            >
              <span className="flex-1">
                <span className="block font-medium">{t(`firstRun.${title}`)}</span>
                <span className="text-ink-3">{t(`firstRun.${lead}`)}</span>
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
