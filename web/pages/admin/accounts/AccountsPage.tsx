import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import Plus from 'lucide-react/icons/plus';
import { usePages } from '../../../lib/pages.ts';
import { useSearchState } from '../../../lib/search.ts';
import { Button } from '../../../ui/Button.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { SelectField, TextField } from '../../../ui/Field.tsx';
import { Pager } from '../../../ui/Pager.tsx';
import { Empty, ErrorState, SkeletonRows } from '../../../ui/States.tsx';
import { Table } from '../../../ui/Table.tsx';
import { AccountSheet } from './AccountSheet.tsx';
import { accountColumns } from './columns.tsx';
import { NewAccount } from './NewAccount.tsx';
import { useSettled } from '../../../lib/settled.ts';
import { Form } from '../../../ui/Form.tsx';

const SETTLE_MS = 250;

export default function AccountsPage() {
  const { t } = useTranslation();
  const [state, change] = useSearchState();
  const [creating, setCreating] = useState(false);
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
      <Form role="search" className="flex flex-wrap items-end gap-3" onSubmit={() => undefined}>
        <TextField
          label={t('accounts.search')}
          type="search"
          value={state['search'] ?? ''}
          onChange={(event) => change({ search: event.target.value }, { isTyping: true })}
          fieldClassName="min-w-56 flex-1 sm:max-w-96"
        />
        <SelectField
          label={t('accounts.status')}
          value={state['status'] ?? ''}
          onChange={(event) => change({ status: event.target.value })}
        >
          <option value="">{t('common.all')}</option>
          <option value="active">{t('accounts.active')}</option>
          <option value="disabled">{t('accounts.disabled')}</option>
        </SelectField>
        <SelectField
          label={t('accounts.role')}
          value={state['role'] ?? ''}
          onChange={(event) => change({ role: event.target.value })}
        >
          <option value="">{t('common.all')}</option>
          <option value="user">{t('accounts.user')}</option>
          <option value="admin">{t('accounts.admin')}</option>
        </SelectField>
      </Form>
      <AccountList state={state} onOpen={(id) => change({ id })} />
      <AccountSheet id={state['id']} onClose={() => change({ id: undefined })} />
      {creating ? <NewAccount onClose={() => setCreating(false)} /> : null}
    </Page>
  );
}

function AccountList({
  state,
  onOpen,
}: {
  state: Readonly<Record<string, string>>;
  onOpen: (id: string) => void;
}) {
  const { t } = useTranslation();
  const typed = useSettled(state['search'] ?? '', SETTLE_MS);
  const search = typed.length >= 2 ? typed : undefined;
  const pages = usePages('GET /api/console/admin/accounts', {
    query: { search, status: state['status'], role: state['role'] },
  });
  if (pages.error && !pages.data)
    return <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />;
  if (!pages.data) return <SkeletonRows rows={10} />;
  const rows = pages.data.pages.flatMap((page) => page.items);
  return (
    <Card flush>
      {rows.length === 0 ? (
        <Empty title={t('accounts.empty')}>{t('accounts.emptyLead')}</Empty>
      ) : (
        <Table
          label={t('accounts.title')}
          columns={accountColumns(t)}
          rows={rows}
          rowKey={(row) => row.id}
          rowLabel={(row) => t('accounts.open', { email: row.email })}
          onOpen={(row) => onOpen(row.id)}
        />
      )}
      <Pager pages={pages} />
    </Card>
  );
}
