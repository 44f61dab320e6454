import type { TFunction } from 'i18next';
import Plus from 'lucide-react/icons/plus';
import { useState } from 'react';
import type { ItemOf } from '../../../../src/console/contract/routes.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { useForm } from '../../../lib/form.ts';
import { parseUsd } from '../../../lib/money.ts';
import { usePages } from '../../../lib/pages.ts';
import { randomKey } from '../../../lib/browser.ts';
import { useSearchState } from '../../../lib/search.ts';
import { NEWEST_FIRST, useTable } from '../../../lib/table.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Badge } from '../../../ui/Badge.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { Dialog } from '../../../ui/Dialog.tsx';
import { TextField } from '../../../ui/Field.tsx';
import { Changeable, Form } from '../../../ui/Form.tsx';
import { Money } from '../../../ui/Money.tsx';
import { Nothing } from '../../../ui/Numbers.tsx';
import { Empty, FormError } from '../../../ui/States.tsx';
import { useColumns, type Column } from '../../../ui/Table.tsx';
import { TableFilter, TableFilters } from '../../../ui/TableFilters.tsx';
import { TableList } from '../../../ui/TableList.tsx';
import { Time } from '../../../ui/Time.tsx';
import { SecretDialog } from '../SecretDialog.tsx';
import { AccountSheet } from './AccountSheet.tsx';
import { ACCOUNT_READS } from './refresh.ts';

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
        <Changeable right="make_accounts">
          <Button
            small
            kind="primary"
            icon={<Plus size={15} aria-hidden />}
            onClick={() => setCreating(true)}
          >
            {t('accounts.new')}
          </Button>
        </Changeable>
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
          values={['user', 'operator']}
          name={(role) => t(role === 'user' ? 'accounts.user' : 'accounts.operator')}
        />
      </TableFilters>
      <Card flush>
        <TableList
          pages={pages}
          table={table}
          label={t('accounts.title')}
          columns={useColumns(accountColumns)}
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

function accountColumns(t: TFunction): Column<ItemOf<'GET /api/console/admin/accounts'>>[] {
  return [
    {
      id: 'account',
      header: t('accounts.email'),
      card: 'title',
      sortsFirst: 'ascending',
      cell: (row) => (
        <span className="flex min-w-0 flex-wrap items-center gap-2">
          <span className="min-w-0">
            <span className="block truncate font-medium">{row.email}</span>
            {row.name ? <span className="block truncate text-xs text-ink-3">{row.name}</span> : null}
          </span>
          {row.role ? <Badge tone="good">{t(`operators.roles.${row.role}`)}</Badge> : null}
          {row.status === 'disabled' ? <Badge tone="bad">{t('accounts.disabled')}</Badge> : null}
        </span>
      ),
    },
    {
      id: 'balance',
      header: t('accounts.balance'),
      align: 'right',
      card: 'aside',
      sortsFirst: 'descending',
      cell: (row) => <Money usd={row.balanceUsd} />,
    },
    {
      id: 'held',
      header: t('accounts.held'),
      align: 'right',
      cell: (row) => (row.openHolds > 0 ? <Money usd={row.heldUsd} /> : <Nothing />),
    },
    {
      id: 'month',
      header: t('accounts.month'),
      align: 'right',
      sortsFirst: 'descending',
      cell: (row) => <Money usd={row.monthSpentUsd} />,
    },
    {
      id: 'token',
      header: t('accounts.token'),
      cell: (row) =>
        row.tokenHint ? (
          <span className="inline-flex items-center gap-2">
            <code className="text-xs">{row.tokenHint}</code>
            {row.tokenExposedAt ? <Badge tone="bad">{t('accounts.exposed')}</Badge> : null}
          </span>
        ) : (
          <Nothing />
        ),
    },
    {
      id: 'time',
      header: t('accounts.created'),
      align: 'right',
      sortsFirst: 'descending',
      cell: (row) => <Time at={row.createdAt} style="date" />,
    },
  ];
}

function NewAccount({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const { values, field } = useForm({ email: '', name: '', password: '', balance: '' });
  const [made, setMade] = useState<{ email: string; password: string }>();
  const [once] = useState(randomKey);
  const balanceUsd = values.balance.trim() === '' ? undefined : parseUsd(values.balance);
  const wrong = values.balance.trim() !== '' && (balanceUsd === undefined || balanceUsd.startsWith('-'));
  const create = useAction(
    async () =>
      await call('POST /api/console/admin/accounts', {
        body: {
          email: values.email.trim(),
          ...(values.name.trim() ? { name: values.name.trim() } : {}),
          ...(values.password ? { password: values.password } : {}),
          ...(balanceUsd ? { balanceUsd } : {}),
        },
        key: once,
      }),
    {
      refresh: ACCOUNT_READS,
      onDone: ({ account, password }) => (password ? setMade({ email: account.email, password }) : onClose()),
    },
  );
  if (made) {
    const lead = t('accounts.madeLead', { email: made.email });
    return (
      <SecretDialog title={t('accounts.madeTitle')} lead={lead} secret={made.password} onClose={onClose} />
    );
  }
  const hint = t('accounts.passwordHint');
  const error = wrong ? t('settings.badAmount') : undefined;
  return (
    <Dialog open title={t('accounts.newTitle')} onClose={onClose}>
      <Form onSubmit={() => !wrong && create.mutate()}>
        <TextField
          label={t('accounts.email')}
          type="email"
          required
          autoFocus
          autoComplete="off"
          {...field('email')}
        />
        <TextField label={t('accounts.name')} autoComplete="off" {...field('name')} />
        <TextField
          label={t('accounts.password')}
          hint={hint}
          autoComplete="new-password"
          type="password"
          {...field('password')}
        />
        <TextField
          label={t('accounts.opening')}
          inputMode="decimal"
          placeholder="0.00"
          error={error}
          {...field('balance')}
        />
        <FormError error={create.error} />
        <Button type="submit" kind="primary" busy={create.isPending} className="self-end">
          {t('accounts.create')}
        </Button>
      </Form>
    </Dialog>
  );
}
