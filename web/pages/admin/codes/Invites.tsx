import type { TFunction } from 'i18next';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { AdminInvite } from '../../../../src/console/contract.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { usePages } from '../../../lib/pages.ts';
import { Button } from '../../../ui/Button.tsx';
import { Card } from '../../../ui/Card.tsx';
import { Pager } from '../../../ui/Pager.tsx';
import { Empty, ErrorState, FormError, SkeletonRows } from '../../../ui/States.tsx';
import { Table, type Column } from '../../../ui/Table.tsx';
import { Time } from '../../../ui/Time.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { SecretDialog } from '../SecretDialog.tsx';
import { publicOrigin } from '../../../lib/origin.ts';

export function Invites() {
  const { t } = useTranslation();
  const pages = usePages('GET /api/console/admin/invites');
  const [link, setLink] = useState<string>();
  const make = useAction(async () => await call('POST /api/console/admin/invites', { body: {} }), {
    refresh: ['GET /api/console/admin/invites'],
    onDone: ({ code }) => setLink(`${publicOrigin()}/sign-up?invite=${encodeURIComponent(code)}`),
  });
  const rows = pages.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Card
      flush
      title={t('codes.invites')}
      hint={t('codes.invitesHint')}
      actions={
        <Button small busy={make.isPending} onClick={() => make.mutate()}>
          {t('codes.makeInvite')}
        </Button>
      }
    >
      <FormError error={make.error} />
      {pages.error && !pages.data ? (
        <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />
      ) : null}
      {pages.isPending ? <SkeletonRows rows={3} /> : null}
      {pages.data && rows.length === 0 ? <Empty compact title={t('codes.noInvites')} /> : null}
      {rows.length > 0 ? (
        <Table label={t('codes.invites')} columns={inviteColumns(t)} rows={rows} rowKey={(row) => row.id} />
      ) : null}
      <Pager pages={pages} />
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
    { id: 'created', header: t('codes.created'), cell: (row) => <Time at={row.createdAt} style="date" /> },
    {
      id: 'used',
      header: t('codes.used'),
      cell: (row) => (row.usedAt ? <Time at={row.usedAt} style="date" /> : t('codes.unused')),
    },
    {
      id: 'actions',
      header: <span className="sr-only">{t('codes.revoke')}</span>,
      align: 'right',
      card: 'aside',
      cell: (row) => (row.usedAt ? null : <Revoke invite={row} />),
    },
  ];
}
