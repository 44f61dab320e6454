import type { TFunction } from 'i18next';
import type { ItemOf } from '../../../src/console/contract/routes.ts';
import { useApi } from '../../lib/api.ts';
import { formatUsd } from '../../lib/money.ts';
import { usePages } from '../../lib/pages.ts';
import { NEWEST_FIRST, useTable, type TableState } from '../../lib/table.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { useWallet } from '../../lib/wallet.ts';
import { Badge, type Tone } from '../../ui/Badge.tsx';
import { Card } from '../../ui/Card.tsx';
import { Money } from '../../ui/Money.tsx';
import { Empty } from '../../ui/States.tsx';
import type { Column } from '../../ui/Table.tsx';
import { TableFilter, TableFilters } from '../../ui/TableFilters.tsx';
import { TableList, useBlank } from '../../ui/TableList.tsx';
import { Time } from '../../ui/Time.tsx';

type PaymentItem = ItemOf<'GET /api/console/payments/history'>;

/** While a payment is pending, the list is polled: its event may arrive at any moment. */
const WAITING_MS = 3_000;

export function PaymentHistory() {
  const { t, i18n } = useTranslation();
  const { wallet } = useWallet();
  const isBack = new URLSearchParams(location.search).has('payment');
  const table = useTable({
    fields: ['state'],
    sorts: { offered: ['time', 'amount'], usual: NEWEST_FIRST },
    prefix: 'payment_',
  });
  const pages = usePages('GET /api/console/payments/history', {
    query: { ...table.query, wallet },
    refetchInterval: isBack ? WAITING_MS : false,
  });
  const hasNothing = useBlank(pages, table);
  const values = useApi('GET /api/console/list-values', { query: { wallet } }).data;
  return (
    <Card flush title={t('payments.history')}>
      {hasNothing ? null : (
        <TableFilters table={table} searchLabel={t('tables.searchPayments')} className="px-5 pb-4">
          <PaymentStateFilter table={table} states={values?.paymentStates} />
        </TableFilters>
      )}
      <TableList
        pages={pages}
        table={table}
        label={t('payments.history')}
        columns={paymentColumns(t, i18n.language)}
        rowKey={(row) => row.id}
        empty={<Empty compact title={t('payments.none')} />}
      />
    </Card>
  );
}

interface PaymentStateFilterProps {
  readonly table: TableState;
  readonly states: readonly PaymentItem['state'][] | undefined;
}

export function PaymentStateFilter({ table, states }: PaymentStateFilterProps) {
  const { t } = useTranslation();
  return (
    <TableFilter
      table={table}
      field="state"
      label={t('payments.state')}
      values={states}
      name={(state) => {
        const known = STATES.find((one) => one === state);
        return known ? t(`payments.states.${known}`) : state;
      }}
    />
  );
}

const STATES = ['open', 'paid', 'failed'] as const;
const TONES: Record<PaymentItem['state'], Tone> = { open: 'neutral', paid: 'good', failed: 'bad' };

export function paymentColumns<Row extends PaymentItem>(t: TFunction, language: string): Column<Row>[] {
  return [
    {
      id: 'time',
      header: t('payments.time'),
      sortsFirst: 'descending',
      cell: (row) => <Time at={row.at} />,
    },
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
      sortsFirst: 'descending',
      cell: (row) => <Money usd={row.amountUsd} plain />,
    },
  ];
}

function noteOf({ state, reason, reversedUsd }: PaymentItem, t: TFunction, language: string): string {
  if (state === 'failed' && reason !== null) return reasonText(reason, t);
  return Number(reversedUsd) > 0 ? t('payments.reversed', { amount: formatUsd(reversedUsd, language) }) : '';
}

const KNOWN_REASONS = [
  'authentication_required',
  'card_declined',
  'dispute',
  'expired',
  'expired_card',
  'insufficient_funds',
  'no_answer',
  'no_card',
  'provider_unavailable',
  'refund',
] as const;

/** The provider's code for a failure, in the reader's language if it is a common one. */
export function reasonText(word: string, t: TFunction): string {
  const known = KNOWN_REASONS.find((one) => one === word);
  return known ? t(`payments.reasons.${known}`) : t('payments.reasons.other', { word });
}
