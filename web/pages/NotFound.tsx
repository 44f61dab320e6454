import { useTitle } from '../lib/title.ts';
import { useTranslation } from '../lib/translation.tsx';
import { LinkButton } from '../ui/Button.tsx';
import { Empty } from '../ui/States.tsx';

export function NotFound() {
  const { t } = useTranslation();
  useTitle(t('errors.notFound'));
  return (
    <div className="py-16">
      <h1 className="sr-only">{t('errors.notFound')}</h1>
      <Empty
        title={t('errors.notFound')}
        action={
          <>
            <LinkButton href="/app" kind="primary">
              {t('nav.overview')}
            </LinkButton>
            <LinkButton href="/docs">{t('nav.docs')}</LinkButton>
          </>
        }
      >
        {t('errors.notFoundLead')}
      </Empty>
    </div>
  );
}
