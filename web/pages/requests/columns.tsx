import type { TFunction } from 'i18next';
import type { ItemOf } from '../../../src/console/contract/routes.ts';
import { formatCount } from '../../lib/numbers.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Money } from '../../ui/Money.tsx';
import { Duration } from '../../ui/Numbers.tsx';
import type { Column } from '../../ui/Table.tsx';
import { Time } from '../../ui/Time.tsx';
import { shortClient } from './client.ts';
import { RequestStatus } from './RequestStatus.tsx';

type RequestItem = ItemOf<'GET /api/console/requests'>;

/** Sorting by time has one direction: the newest first. */
export const REQUEST_SORTS = {
  offered: ['time', 'cost', 'duration'],
  usual: { by: 'time', descending: true },
} as const;

/** The columns of the request log; admins see a few more around them. */
export function requestColumns(t: TFunction): Column<RequestItem>[] {
  return [
    {
      id: 'time',
      header: t('requests.time'),
      sortsFirst: 'descending',
      sortsOneWay: true,
      cell: (row) => <Time at={row.at} />,
    },
    {
      id: 'model',
      header: t('requests.model'),
      card: 'title',
      cell: (row) => (
        <>
          <span className="block max-w-56 truncate font-medium" title={row.model}>
            {row.model}
          </span>
          <span className="block font-mono text-xs text-ink-3">{row.endpoint}</span>
        </>
      ),
    },
    { id: 'status', header: t('requests.status'), cell: (row) => <RequestStatus request={row} /> },
    {
      id: 'tokens',
      header: t('requests.tokens'),
      align: 'right',
      cell: (row) => <Amounts row={row} />,
    },
    {
      id: 'cost',
      header: t('requests.cost'),
      align: 'right',
      card: 'aside',
      sortsFirst: 'descending',
      cell: (row) =>
        row.state === 'pending' ? (
          <span className="text-ink-3">
            ≤ <Money usd={row.heldUsd} kind="charge" plain />
          </span>
        ) : (
          <Money usd={row.chargedUsd} kind="charge" plain />
        ),
    },
    {
      id: 'ttft',
      header: t('requests.ttft'),
      align: 'right',
      cell: (row) => <Duration ms={row.kind === 'chat' ? row.firstByteMs : null} />,
    },
    {
      id: 'duration',
      header: t('requests.duration'),
      align: 'right',
      sortsFirst: 'descending',
      cell: (row) => <Duration ms={row.durationMs} />,
    },
    {
      id: 'client',
      header: t('requests.client'),
      cell: (row) => (
        <span className="block max-w-40 truncate text-ink-2" title={row.client}>
          {shortClient(row.client) || '–'}
        </span>
      ),
    },
  ];
}

function Amounts({ row }: { row: RequestItem }) {
  const { t, i18n } = useTranslation();
  if (row.kind === 'images') return t('requests.images', { count: row.images });
  return (
    <span className="whitespace-nowrap tabular-nums">
      {`${formatCount(row.inputTokens, i18n.language)} / ${formatCount(row.outputTokens, i18n.language)}`}
      {row.cachedTokens > 0 ? (
        <span className="block text-xs text-ink-3">
          {t('requests.cachedOf', { count: row.cachedTokens })}
        </span>
      ) : null}
    </span>
  );
}
