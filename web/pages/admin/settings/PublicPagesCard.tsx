import type { AdminPublicPages } from '../../../../src/console/contract.ts';
import { useAction } from '../../../lib/action.ts';
import { call, useApi } from '../../../lib/api.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Card } from '../../../ui/Card.tsx';
import { FormError, Loaded, Skeleton } from '../../../ui/States.tsx';
import { Switch } from '../../../ui/Switch.tsx';
import { toast } from '../../../ui/Toast.tsx';

/** Whether models, prices and status are shown to everybody; a switch takes effect at once. */
export function PublicPagesCard() {
  const { t } = useTranslation();
  const settings = useApi('GET /api/console/admin/public-pages', undefined, { staleTime: Infinity });
  return (
    <Card title={t('publicPages.title')} hint={t('publicPages.hint')}>
      <Loaded query={settings} skeleton={<Skeleton className="h-8 w-64" />}>
        {(data) => <PublicPagesSwitch settings={data} />}
      </Loaded>
    </Card>
  );
}

function PublicPagesSwitch({ settings }: { settings: AdminPublicPages }) {
  const { t } = useTranslation();
  const save = useAction((open: boolean) => call('PUT /api/console/admin/public-pages', { body: { open } }), {
    refresh: ['GET /api/console/admin/public-pages', 'GET /api/console/session'],
    onDone: ({ open }) => toast(t(open ? 'publicPages.opened' : 'publicPages.closed')),
  });
  return (
    <div className="flex flex-col gap-3">
      <Switch
        label={t('publicPages.switch')}
        checked={settings.open}
        disabled={save.isPending}
        onChange={(open) => save.mutate(open)}
      />
      <FormError error={save.error} />
    </div>
  );
}
