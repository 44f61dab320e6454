import type { AdminBackendDetail } from '../../../../../src/console/contract.ts';
import { useApi } from '../../../../lib/api.ts';
import { pathParts } from '../../../../lib/search.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { LinkButton } from '../../../../ui/Button.tsx';
import { Page } from '../../../../ui/Card.tsx';
import { Loaded, Skeleton } from '../../../../ui/States.tsx';
import { DraftBar } from '../../draft/DraftBar.tsx';
import { BackendAddress } from './BackendAddress.tsx';
import { BackendKeys } from './BackendKeys.tsx';
import { BackendModels } from './BackendModels.tsx';
import { BackendOrder } from './BackendOrder.tsx';
import { RemoveBackend } from './RemoveBackend.tsx';

/** A backend as the draft has it. Everything that is changed here is in the draft until it is published. */
export default function EditBackendPage() {
  const { t } = useTranslation();
  const [name = ''] = pathParts('/admin/backends/');
  const detail = useApi('GET /api/console/admin/backends/{id}/edit', { params: { id: name } });
  return (
    <Page
      title={name}
      lead={t('backendEdit.lead')}
      actions={<LinkButton href="/admin/backends">{t('newBackend.back')}</LinkButton>}
    >
      <Loaded query={detail} skeleton={<Skeleton className="h-96 w-full rounded-lg" />}>
        {(backend) => <Parts key={backend.name} backend={backend} />}
      </Loaded>
      <DraftBar />
    </Page>
  );
}

function Parts({ backend }: { backend: AdminBackendDetail }) {
  const { t } = useTranslation();
  return (
    <>
      {backend.isPublished ? null : (
        <p className="rounded-md border border-line bg-sunken px-4 py-3">{t('backendEdit.unpublished')}</p>
      )}
      {backend.origin === null ? null : (
        <>
          <BackendAddress backend={backend} />
          <BackendKeys backend={backend} origin={backend.origin} />
        </>
      )}
      <BackendOrder backend={backend} />
      <BackendModels backend={backend} />
      <RemoveBackend backend={backend} />
    </>
  );
}
