import type { TFunction } from 'i18next';
import type { ItemOf } from '../../../src/console/contract/routes.ts';
import { Badge } from '../../ui/Badge.tsx';
import { Link } from '../../ui/Link.tsx';
import { Count, Nothing } from '../../ui/Numbers.tsx';
import type { Column } from '../../ui/Table.tsx';
import { Time } from '../../ui/Time.tsx';
import { shortClient } from '../requests/client.ts';
import { knownReason, type MendingLink } from './reason.ts';

type RefusedCallItem = ItemOf<'GET /api/console/refused-calls'>;

/** The columns of the list; admins see whose call it was as well. */
export function refusedColumns<Row extends RefusedCallItem>(
  t: TFunction,
  linkOf: (row: Row) => MendingLink,
): Column<Row>[] {
  return [
    {
      id: 'time',
      header: t('requests.time'),
      className: 'align-top',
      sortsFirst: 'descending',
      cell: (row) => <Time at={row.lastAt} />,
    },
    {
      id: 'calls',
      header: t('tables.calls'),
      align: 'right',
      card: 'aside',
      className: 'align-top',
      sortsFirst: 'descending',
      cell: (row) => <Count value={row.calls} />,
    },
    {
      id: 'reason',
      header: t('refused.reason'),
      card: 'title',
      className: 'align-top',
      cell: (row) => <Reason row={row} t={t} />,
    },
    {
      id: 'whatToDo',
      header: t('refused.whatToDo'),
      className: 'align-top min-w-64',
      cell: (row) => <WhatToDo row={row} link={linkOf(row)} t={t} />,
    },
    {
      id: 'model',
      header: t('requests.model'),
      className: 'align-top',
      cell: (row) => <Target row={row} t={t} />,
    },
    {
      id: 'client',
      header: t('requests.client'),
      className: 'align-top',
      cell: (row) => (
        <span className="block max-w-40 truncate text-ink-2" title={row.client}>
          {shortClient(row.client) || '–'}
        </span>
      ),
    },
  ];
}

function Reason({ row, t }: { row: RefusedCallItem; t: TFunction }) {
  return (
    <span className="flex flex-col items-start gap-1">
      <span className="font-medium">{t(`refused.reasons.${knownReason(row.reason)}.title`)}</span>
      <span className="flex flex-wrap items-center gap-1.5" title={row.requestId}>
        <Badge mono>{row.status}</Badge>
        <code className="text-xs text-ink-3">{row.reason}</code>
      </span>
    </span>
  );
}

function WhatToDo({ row, link, t }: { row: RefusedCallItem; link: MendingLink; t: TFunction }) {
  return (
    <span className="flex max-w-[60ch] flex-col gap-1">
      <span>{t(`refused.reasons.${knownReason(row.reason)}.help`)}</span>
      {row.message ? (
        <span className="text-xs wrap-anywhere text-ink-3">{row.message}</span>
      ) : row.param ? (
        <span className="text-xs text-ink-3">
          {t('refused.field')}: <code>{row.param}</code>
        </span>
      ) : null}
      <Link href={link.href} className="self-start text-sm font-medium text-accent hover:underline">
        {t(`refused.links.${link.label}`)}
      </Link>
    </span>
  );
}

function Target({ row, t }: { row: RefusedCallItem; t: TFunction }) {
  const isPlayground = row.operation === '/app/playground';
  return (
    <span className="block min-w-0">
      {row.model ? (
        <span className="block max-w-56 truncate font-medium" title={row.model}>
          {row.model}
        </span>
      ) : (
        <Nothing />
      )}
      {row.endpoint ? <span className="block font-mono text-xs text-ink-3">{row.endpoint}</span> : null}
      <span className="block max-w-56 truncate font-mono text-xs text-ink-3" title={row.operation}>
        {isPlayground ? t('refused.playground') : row.operation}
      </span>
    </span>
  );
}
