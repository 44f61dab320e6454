import type { TFunction } from 'i18next';
import { useState } from 'react';
import type { ItemOf } from '../../../../src/console/contract/routes.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { usePages } from '../../../lib/pages.ts';
import { NEWEST_FIRST, useTable } from '../../../lib/table.ts';
import { Button } from '../../../ui/Button.tsx';
import { Card } from '../../../ui/Card.tsx';
import { Changeable } from '../../../ui/Form.tsx';
import { Empty, FormError } from '../../../ui/States.tsx';
import type { Column } from '../../../ui/Table.tsx';
import { TableFilter, TableFilters } from '../../../ui/TableFilters.tsx';
import { TableList } from '../../../ui/TableList.tsx';
import { Time } from '../../../ui/Time.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { SecretDialog } from '../SecretDialog.tsx';
import { publicOrigin } from '../../../lib/browser.ts';
import { useTranslation } from '../../../lib/translation.tsx';

type AdminInvite = ItemOf<'GET /api/console/admin/invites'>;

export function Invites() {
  const { t } = useTranslation();
  const table = useTable({
    fields: ['state'],
    sorts: { offered: ['time', 'used'], usual: NEWEST_FIRST },
    prefix: 'invite_',
  });
  const pages = usePages('GET /api/console/admin/invites', { query: table.query });
  const [link, setLink] = useState<string>();
  const make = useAction(async () => await call('POST /api/console/admin/invites', { body: {} }), {
    refresh: ['GET /api/console/admin/invites'],
    onDone: ({ code }) => setLink(`${publicOrigin()}/sign-up?invite=${encodeURIComponent(code)}`),
  });
  return (
    <Card
      flush
      title={t('codes.invites')}
      hint={t('codes.invitesHint')}
      actions={
        <Changeable right="make_accounts">
          <Button small busy={make.isPending} onClick={() => make.mutate()}>
            {t('codes.makeInvite')}
          </Button>
        </Changeable>
      }
    >
      <FormError error={make.error} />
      <TableFilters table={table} searchLabel={t('codes.searchInvites')} className="px-5 pb-4">
        <TableFilter
          table={table}
          field="state"
          label={t('codes.used')}
          values={['used', 'unused']}
          name={(state) => t(state === 'used' ? 'codes.isUsed' : 'codes.isUnused')}
        />
      </TableFilters>
      <TableList
        pages={pages}
        table={table}
        label={t('codes.invites')}
        columns={inviteColumns(t)}
        rowKey={(row) => row.id}
        empty={<Empty compact title={t('codes.noInvites')} />}
      />
      {link ? (
        <SecretDialog
          title={t('codes.inviteMade')}
          lead={t('codes.inviteLead')}
          secret={link}
          onClose={() => setLink(undefined)}
        />
      ) : null}
    </Card>
  );
}

function Revoke({ invite }: { invite: AdminInvite }) {
  const { t } = useTranslation();
  const revoke = useAction(
    async () => await call('DELETE /api/console/admin/invites/{id}', { params: { id: invite.id } }),
    {
      refresh: ['GET /api/console/admin/invites'],
      onDone: () => toast(t('codes.revoked')),
    },
  );
  return (
    <Button small kind="ghost" busy={revoke.isPending} onClick={() => revoke.mutate()}>
      {t('codes.revoke')}
    </Button>
  );
}

function inviteColumns(t: TFunction): Column<AdminInvite>[] {
  return [
    { id: 'hint', header: t('codes.hint'), card: 'title', cell: (row) => <code>{row.hint}</code> },
    { id: 'by', header: t('codes.createdBy'), cell: (row) => row.createdBy },
    {
      id: 'time',
      header: t('codes.created'),
      sortsFirst: 'descending',
      cell: (row) => <Time at={row.createdAt} style="date" />,
    },
    {
      id: 'used',
      header: t('codes.used'),
      sortsFirst: 'descending',
      cell: (row) =>
        row.usedAt ? (
          <>
            <Time at={row.usedAt} style="date" />
            <span className="block text-xs break-all text-ink-3">{row.usedBy}</span>
          </>
        ) : (
          t('codes.unused')
        ),
    },
    {
      id: 'actions',
      header: <span className="sr-only">{t('codes.revoke')}</span>,
      align: 'right',
      card: 'aside',
      cell: (row) =>
        row.usedAt ? null : (
          <Changeable right="make_accounts">
            <Revoke invite={row} />
          </Changeable>
        ),
    },
  ];
}
