import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { AdminRefusedCall } from '../../../../src/console/contract.ts';
import { usePages } from '../../../lib/pages.ts';
import { useSearchState } from '../../../lib/search.ts';
import { Button } from '../../../ui/Button.tsx';
import { Page } from '../../../ui/Card.tsx';
import type { Column } from '../../../ui/Table.tsx';
import { refusedColumns } from '../../refused/columns.tsx';
import { operatorLink } from '../../refused/reason.ts';
import { RefusedList } from '../../refused/RefusedList.tsx';

export default function AdminRefusedCallsPage() {
  const { t } = useTranslation();
  const [state, change] = useSearchState();
  const { reason, account } = state;
  const pages = usePages('GET /api/console/admin/refused-calls', { query: { reason, account } });
  const rows = (pages.data?.pages ?? []).flatMap((page) => page.items);
  const [first] = rows;
  return (
    <Page wide title={t('refused.title')} lead={t('refused.adminLead')}>
      <RefusedList
        pages={pages}
        rows={rows}
        columns={columns(t)}
        label={t('refused.title')}
        reason={reason}
        onReason={(next) => change({ reason: next })}
        filters={
          account ? (
            <p className="-mt-2 flex items-center gap-2 text-sm text-ink-3">
              {t('requests.account')}: <span className="text-ink">{first?.email || account}</span>
              <Button small kind="ghost" onClick={() => change({ account: undefined })}>
                {t('common.clear')}
              </Button>
            </p>
          ) : null
        }
      />
    </Page>
  );
}

function columns(t: TFunction): Column<AdminRefusedCall>[] {
  const [time, ...rest] = refusedColumns<AdminRefusedCall>(t, operatorLink);
  const account: Column<AdminRefusedCall> = {
    id: 'account',
    header: t('requests.account'),
    className: 'align-top',
    cell: (row) => (
      <Link
        href={`/admin/accounts?id=${row.accountId}`}
        className="block max-w-44 truncate hover:text-accent hover:underline"
        title={row.email}
      >
        {row.email}
      </Link>
    ),
  };
  return [...(time ? [time] : []), account, ...rest];
}
