import { useTranslation } from '../../lib/translation.tsx';
import { Page } from '../../ui/Card.tsx';
import { Link } from '../../ui/Link.tsx';
import { ACCOUNT_WEBHOOKS } from './calls.ts';
import { Webhooks } from './Webhooks.tsx';

export default function WebhooksPage() {
  const { t } = useTranslation();
  return (
    <Page
      title={t('webhooks.title')}
      lead={t('webhooks.lead')}
      actions={
        <Link href="/docs/webhooks" className="text-accent underline underline-offset-2">
          {t('webhooks.guide')}
        </Link>
      }
    >
      <Webhooks calls={ACCOUNT_WEBHOOKS} urlHint={t('webhooks.urlHint')} />
    </Page>
  );
}
