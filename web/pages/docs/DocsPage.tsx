import { Suspense } from 'react';
import { useLocation, useParams } from 'wouter';
import { guides } from 'virtual:guides';
import { later } from '../../lib/chunk.ts';
import { classes } from '../../lib/classes.ts';
import { useTitle } from '../../lib/session.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { PublicShell } from '../../shell/PublicShell.tsx';
import { SelectField } from '../../ui/Field.tsx';
import { Reference } from './Reference.tsx';
import { Link } from '../../ui/Link.tsx';
import { Skeleton } from '../../ui/States.tsx';

/** Loaded separately because it renders Markdown, which the reference does not need. */
const GuideView = later(() => import('./GuideView.tsx'));

const API = 'reference';
const FIRST = 'getting-started';

/** Guides and the reference, for people with and without an account. */
export default function DocsPage() {
  const { page, part } = useParams<{ page?: string; part?: string }>();
  const { t } = useTranslation();
  const current = page ?? FIRST;
  useTitle(guides.find((guide) => guide.slug === current)?.title ?? t('docs.api'));
  return (
    <PublicShell>
      <div className="mx-auto grid max-w-[76rem] gap-x-12 px-4 py-8 sm:px-8 lg:grid-cols-[13rem_minmax(0,1fr)] lg:py-10">
        <MobileNav current={current} />
        <aside className="hidden lg:block">
          <div className="thin-scroll sticky top-20 max-h-[calc(100dvh-6rem)] overflow-y-auto pb-8">
            <DesktopNav current={current} />
          </div>
        </aside>
        <div className="min-w-0">
          {current === API ? (
            <Reference part={part} />
          ) : (
            <Suspense fallback={<Skeleton className="h-96 w-full" />}>
              <GuideView slug={current} part={part} />
            </Suspense>
          )}
        </div>
      </div>
    </PublicShell>
  );
}

function DesktopNav({ current }: { current: string }) {
  const { t } = useTranslation();
  return (
    <nav aria-label={t('docs.title')} className="flex flex-col gap-6">
      <NavGroup
        title={t('docs.guides')}
        current={current}
        items={guides.filter((guide) => guide.group === 'guides')}
      />
      <NavGroup title={t('docs.reference')} current={current} items={[{ slug: API, title: t('docs.api') }]} />
      <NavGroup
        title={t('docs.clients')}
        current={current}
        items={guides.filter((guide) => guide.group === 'clients')}
      />
      <NavGroup
        title={t('docs.operators')}
        current={current}
        items={guides.filter((guide) => guide.group === 'operators')}
      />
    </nav>
  );
}

interface NavGroupProps {
  readonly title: string;
  readonly current: string;
  readonly items: readonly { readonly slug: string; readonly title: string }[];
}

function NavGroup({ title, current, items }: NavGroupProps) {
  if (items.length === 0) return null;
  return (
    <div>
      <p className="pb-1.5 text-xs font-medium text-ink-3">{title}</p>
      <ul className="border-l border-line">
        {items.map(({ slug, title: name }) => (
          <li key={slug}>
            <Link
              href={slug === FIRST ? '/docs' : `/docs/${slug}`}
              aria-current={slug === current ? 'page' : undefined}
              className={classes(
                '-ml-px block border-l-2 py-1 pl-3 transition-colors hover:text-ink',
                slug === current ? 'border-accent font-medium text-ink' : 'border-transparent text-ink-2',
              )}
            >
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  );
}

function MobileNav({ current }: { current: string }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  return (
    <div className="mb-6 lg:hidden">
      <SelectField
        label={t('docs.page')}
        hideLabel
        value={current}
        onChange={(event) => navigate(`/docs/${event.target.value}`)}
      >
        <option value={API}>{t('docs.api')}</option>
        {(['guides', 'clients', 'operators'] as const).map((group) => (
          <optgroup key={group} label={t(`docs.${group}`)}>
            {guides
              .filter((guide) => guide.group === group)
              .map((guide) => (
                <option key={guide.slug} value={guide.slug}>
                  {guide.title}
                </option>
              ))}
          </optgroup>
        ))}
      </SelectField>
    </div>
  );
}
