import { useApi } from '../../../lib/api.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Badge } from '../../../ui/Badge.tsx';
import { LinkButton } from '../../../ui/Button.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { Changeable } from '../../../ui/Form.tsx';
import { Empty, Loaded, Skeleton } from '../../../ui/States.tsx';
import { useDraft } from '../draft/draft.ts';
import { DraftBar } from '../draft/DraftBar.tsx';
import { BackendCard, OpenBackend } from './BackendCard.tsx';
import { ProviderMark } from './ProviderMark.tsx';

const REFRESH_MS = 5000;

export default function BackendsPage() {
  const { t } = useTranslation();
  const hasDraft = Boolean(useDraft().data?.draft);
  const backends = useApi('GET /api/console/admin/backends', undefined, { refetchInterval: REFRESH_MS });
  return (
    <Page
      title={t('backends.title')}
      lead={t('backends.lead')}
      actions={
        <Changeable right="change_catalog">
          <LinkButton kind={hasDraft ? 'plain' : 'primary'} href="/admin/backends/new">
            {t('backends.add')}
          </LinkButton>
        </Changeable>
      }
    >
      <Loaded query={backends} skeleton={<Skeleton className="h-64 w-full rounded-lg" />}>
        {({ items, editable, drafted }) =>
          items.length + drafted.length === 0 ? (
            <Card>
              <Empty title={t('backends.empty')}>{t('backends.emptyLead')}</Empty>
            </Card>
          ) : (
            <>
              {drafted.map((backend) => (
                <Card key={backend.name}>
                  <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
                    <ProviderMark names={[backend.name, backend.kind]} />
                    <h2 className="font-mono text-lg font-semibold">{backend.name}</h2>
                    {backend.kind === backend.name ? null : <Badge>{backend.kind}</Badge>}
                    <Badge tone="warn">{t('backends.newInDraft')}</Badge>
                    <span className="min-w-0 flex-1 truncate text-sm text-ink-3">
                      {backend.baseUrl ?? ''}
                    </span>
                    <OpenBackend name={backend.name} />
                  </div>
                </Card>
              ))}
              {items.map((backend) => (
                <BackendCard key={backend.name} backend={backend} editable={editable} />
              ))}
            </>
          )
        }
      </Loaded>
      <DraftBar />
    </Page>
  );
}
