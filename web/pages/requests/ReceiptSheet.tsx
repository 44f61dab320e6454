import { useApi } from '../../lib/api.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { Empty, Loaded, Skeleton } from '../../ui/States.tsx';
import { ReceiptActions } from './ReceiptActions.tsx';
import { ReceiptView } from './ReceiptView.tsx';

/** The receipt of one request, fetched when it is opened; while it runs, again every second. */
export function ReceiptSheet({ id, onClose }: { id: string | undefined; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Dialog open={id !== undefined} onClose={onClose} kind="sheet" title={t('receipt.title')}>
      {id ? <Body id={id} /> : null}
    </Dialog>
  );
}

function Body({ id }: { id: string }) {
  const { t } = useTranslation();
  const receipt = useApi('GET /api/console/requests/{id}', { params: { id } }, { staleTime: 1000 });
  const running = receipt.data?.state === 'pending';
  useApi(
    'GET /api/console/requests/{id}',
    { params: { id } },
    { refetchInterval: running ? 1000 : false, enabled: running },
  );
  if (receipt.error?.code === 'not_found')
    return <Empty title={t('receipt.unknown')}>{t('receipt.unknownLead')}</Empty>;
  return (
    <Loaded query={receipt} skeleton={<Skeleton className="h-96 w-full" />}>
      {(data) => <ReceiptView receipt={data} actions={<ReceiptActions receipt={data} />} />}
    </Loaded>
  );
}
