import type { TFunction } from 'i18next';
import type { ItemOf } from '../../../src/console/contract/routes.ts';
import { usePages } from '../../lib/pages.ts';
import { NEWEST_FIRST, useTable } from '../../lib/table.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Page } from '../../ui/Card.tsx';
import { useColumns, type Column } from '../../ui/Table.tsx';
import { refusedColumns } from './columns.tsx';
import { ownLink } from './reason.ts';
import { RefusedList } from './RefusedList.tsx';

export default function RefusedCallsPage() {
  const { t } = useTranslation();
  const table = useTable({
    fields: ['reason'],
    sorts: { offered: ['time', 'calls'], usual: NEWEST_FIRST },
  });
  const pages = usePages('GET /api/console/refused-calls', { query: table.query });
  const keptDays = pages.data?.pages[0]?.keptDays ?? KEPT_DAYS;
  return (
    <Page wide title={t('refused.title')} lead={t('refused.lead', { count: keptDays })}>
      <RefusedList
        pages={pages}
        table={table}
        columns={useColumns(columns)}
        searchLabel={t('tables.searchRefused')}
      />
    </Page>
  );
}

function columns(t: TFunction): Column<ItemOf<'GET /api/console/refused-calls'>>[] {
  return refusedColumns(t, ownLink);
}

/** Assumed until the server has said it. */
const KEPT_DAYS = 7;
