import { useState } from 'react';
import Plus from 'lucide-react/icons/plus';
import { usePages } from '../../../lib/pages.ts';
import { useSearchState } from '../../../lib/search.ts';
import { NEWEST_FIRST, useTable } from '../../../lib/table.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { Empty } from '../../../ui/States.tsx';
import { TableFilter, TableFilters } from '../../../ui/TableFilters.tsx';
import { TableList } from '../../../ui/TableList.tsx';
import { AccountSheet } from './AccountSheet.tsx';
import { accountColumns } from './columns.tsx';
import { NewAccount } from './NewAccount.tsx';

export default function AccountsPage() {
  const { t } = useTranslation();
  const [state, change] = useSearchState();
  const [creating, setCreating] = useState(false);
  const table = useTable({
    fields: ['status', 'role'],
    sorts: { offered: ['time', 'account', 'balance', 'month'], usual: NEWEST_FIRST },
  });
  const pages = usePages('GET /api/console/admin/accounts', { query: table.query });
  return (
    <Page
      wide
      title={t('accounts.title')}
      lead={t('accounts.lead')}
      actions={
        <Button small kind="primary" icon={<Plus size={15} aria-hidden />} onClick={() => setCreating(true)}>
          {t('accounts.new')}
        </Button>
      }
    >
      <TableFilters table={table} searchLabel={t('accounts.search')}>
        <TableFilter
          table={table}
          field="status"
          label={t('accounts.status')}
          values={['active', 'disabled']}
          name={(status) => t(status === 'active' ? 'accounts.active' : 'accounts.disabled')}
        />
        <TableFilter
          table={table}
          field="role"
          label={t('accounts.role')}
          values={['user', 'admin']}
          name={(role) => t(role === 'user' ? 'accounts.user' : 'accounts.admin')}
        />
      </TableFilters>
      <Card flush>
        <TableList
          pages={pages}
          table={table}
          label={t('accounts.title')}
          columns={accountColumns(t)}
          rowKey={(row) => row.id}
          rowLabel={(row) => t('accounts.open', { email: row.email })}
          onOpen={(row) => change({ id: row.id })}
          empty={<Empty title={t('accounts.empty')} />}
        />
      </Card>
      <AccountSheet id={state['id']} onClose={() => change({ id: undefined })} />
      {creating ? <NewAccount onClose={() => setCreating(false)} /> : null}
    </Page>
  );
}
