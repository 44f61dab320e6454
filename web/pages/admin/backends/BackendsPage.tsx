import { useApi } from '../../../lib/api.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { LinkButton } from '../../../ui/Button.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { Empty, Loaded, Skeleton } from '../../../ui/States.tsx';
import { DraftBar } from '../draft/DraftBar.tsx';
import { BackendCard } from './BackendCard.tsx';

const REFRESH_MS = 5000;

export default function BackendsPage() {
  const { t } = useTranslation();
  const backends = useApi('GET /api/console/admin/backends', undefined, { refetchInterval: REFRESH_MS });
  return (
    <Page
      title={t('backends.title')}
      lead={t('backends.lead')}
      actions={
        <LinkButton kind="primary" href="/admin/backends/new">
          {t('backends.add')}
        </LinkButton>
      }
    >
      <Loaded query={backends} skeleton={<Skeleton className="h-64 w-full rounded-lg" />}>
        {({ items, editable }) =>
          items.length === 0 ? (
            <Card>
              <Empty title={t('backends.empty')}>{t('backends.emptyLead')}</Empty>
            </Card>
          ) : (
            items.map((backend) => <BackendCard key={backend.name} backend={backend} editable={editable} />)
          )
        }
      </Loaded>
      <DraftBar />
    </Page>
  );
}
