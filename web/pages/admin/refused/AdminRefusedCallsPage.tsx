import type { TFunction } from 'i18next';
import type { ItemOf } from '../../../../src/console/contract/routes.ts';
import { usePages } from '../../../lib/pages.ts';
import { NEWEST_FIRST, useTable } from '../../../lib/table.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Page } from '../../../ui/Card.tsx';
import { useColumns, type Column } from '../../../ui/Table.tsx';
import { refusedColumns } from '../../refused/columns.tsx';
import { operatorLink } from '../../refused/reason.ts';
import { RefusedList } from '../../refused/RefusedList.tsx';
import { accountColumn, ChosenAccount } from '../accountColumn.tsx';

type AdminRefusedCall = ItemOf<'GET /api/console/admin/refused-calls'>;

export default function AdminRefusedCallsPage() {
  const { t } = useTranslation();
  const table = useTable({
    fields: ['reason', 'account'],
    sorts: { offered: ['time', 'account', 'calls'], usual: NEWEST_FIRST },
  });
  const pages = usePages('GET /api/console/admin/refused-calls', { query: table.query });
  return (
    <Page wide title={t('refused.title')} lead={t('refused.adminLead')}>
      <RefusedList
        pages={pages}
        table={table}
        columns={useColumns(columns)}
        searchLabel={t('tables.searchAllRefused')}
        filters={<ChosenAccount table={table} />}
      />
    </Page>
  );
}

function columns(t: TFunction): Column<AdminRefusedCall>[] {
  const [time, ...rest] = refusedColumns<AdminRefusedCall>(t, operatorLink);
  const account = { ...accountColumn<AdminRefusedCall>(t), className: 'align-top' };
  return [...(time ? [time] : []), account, ...rest];
}
