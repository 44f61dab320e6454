import { useApi } from '../../lib/api.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { Empty, Loaded, Skeleton } from '../../ui/States.tsx';
import { ReceiptActions } from './ReceiptActions.tsx';
import { ReceiptView } from './ReceiptView.tsx';

interface ReceiptSheetProps {
  readonly id: string | undefined;
  readonly onClose: () => void;
  /** The receipt of a team's account: it is read through the team, and only the account's owner may share it. */
  readonly isTeams?: boolean;
}

/** The receipt of one request, fetched when it is opened; while it runs, again every second. */
export function ReceiptSheet({ id, onClose, isTeams = false }: ReceiptSheetProps) {
  const { t } = useTranslation();
  return (
    <Dialog open={id !== undefined} onClose={onClose} kind="sheet" title={t('receipt.title')}>
      {id ? <Body id={id} isTeams={isTeams} /> : null}
    </Dialog>
  );
}

function Body({ id, isTeams }: { id: string; isTeams: boolean }) {
  const { t } = useTranslation();
  const route = isTeams ? 'GET /api/console/team/requests/{id}' : 'GET /api/console/requests/{id}';
  const receipt = useApi(route, { params: { id } }, { staleTime: 1000 });
  const running = receipt.data?.state === 'pending';
  useApi(route, { params: { id } }, { refetchInterval: running ? 1000 : false, enabled: running });
  if (receipt.error?.code === 'not_found')
    return <Empty title={t('receipt.unknown')}>{t('receipt.unknownLead')}</Empty>;
  return (
    <Loaded query={receipt} skeleton={<Skeleton className="h-96 w-full" />}>
      {(data) => <ReceiptView receipt={data} actions={isTeams ? null : <ReceiptActions receipt={data} />} />}
    </Loaded>
  );
}
