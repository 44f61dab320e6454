import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import type { PaymentItem } from '../../../src/console/contract.ts';
import { formatUsd } from '../../lib/money.ts';
import { usePages } from '../../lib/pages.ts';
import { Badge, type Tone } from '../../ui/Badge.tsx';
import { Card } from '../../ui/Card.tsx';
import { Money } from '../../ui/Money.tsx';
import { Pager } from '../../ui/Pager.tsx';
import { Empty, ErrorState, SkeletonRows } from '../../ui/States.tsx';
import { Table, type Column } from '../../ui/Table.tsx';
import { Time } from '../../ui/Time.tsx';
import { reasonText } from './reason.ts';

/** While one waits, the list is looked at again: its event may come at any moment. */
const WAITING_MS = 3_000;

export function PaymentHistory() {
  const { t, i18n } = useTranslation();
  const isBack = new URLSearchParams(location.search).has('payment');
  const pages = usePages('GET /api/console/payments/history', {
    refetchInterval: isBack ? WAITING_MS : false,
  });
  const rows = pages.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Card flush title={t('payments.history')}>
      {pages.error && !pages.data ? (
        <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />
      ) : null}
      {pages.isPending ? <SkeletonRows rows={2} /> : null}
      {pages.data && rows.length === 0 ? <Empty compact title={t('payments.none')} /> : null}
      {rows.length > 0 ? (
        <Table
          label={t('payments.history')}
          columns={paymentColumns(t, i18n.language)}
          rows={rows}
          rowKey={(row) => row.id}
        />
      ) : null}
      <Pager pages={pages} />
    </Card>
  );
}

const TONES: Record<PaymentItem['state'], Tone> = { open: 'neutral', paid: 'good', failed: 'bad' };

export function paymentColumns<Row extends PaymentItem>(t: TFunction, language: string): Column<Row>[] {
  return [
    { id: 'time', header: t('payments.time'), cell: (row) => <Time at={row.at} /> },
    { id: 'kind', header: t('payments.kind'), card: 'title', cell: (row) => t(`payments.kinds.${row.kind}`) },
    {
      id: 'state',
      header: t('payments.state'),
      cell: (row) => (
        <span className="inline-flex flex-wrap items-center gap-2">
          <Badge tone={TONES[row.state]}>{t(`payments.states.${row.state}`)}</Badge>
          <span className="text-ink-3">{noteOf(row, t, language)}</span>
        </span>
      ),
    },
    {
      id: 'amount',
      header: t('payments.amount'),
      align: 'right',
      card: 'aside',
      cell: (row) => <Money usd={row.amountUsd} plain />,
    },
  ];
}

function noteOf({ state, reason, reversedUsd }: PaymentItem, t: TFunction, language: string): string {
  if (state === 'failed' && reason !== null) return reasonText(reason, t);
  return Number(reversedUsd) > 0 ? t('payments.reversed', { amount: formatUsd(reversedUsd, language) }) : '';
}
