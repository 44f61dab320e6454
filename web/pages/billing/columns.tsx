import type { TFunction } from 'i18next';
import type { Entry } from '../../../src/console/contract.ts';
import { Badge, type Tone } from '../../ui/Badge.tsx';
import { Money } from '../../ui/Money.tsx';
import type { Column } from '../../ui/Table.tsx';
import { formatUtcDay } from '../../lib/time.ts';
import { Time } from '../../ui/Time.tsx';

/** As the server writes it. */
const WELCOME = 'welcome credit';

const TONES: Record<Entry['kind'], Tone> = {
  credit: 'good',
  refund: 'good',
  charge: 'neutral',
  adjustment: 'warn',
  overrun: 'bad',
};

/** Lines of the ledger; a charge leads to the receipt it comes from. */
export function entryColumns(
  { t, i18n: { language } }: { t: TFunction; i18n: { language: string } },
  onReceipt: (requestId: string) => void,
): Column<Entry>[] {
  return [
    {
      id: 'time',
      header: t('billing.time'),
      sortsFirst: 'descending',
      sortsOneWay: true,
      cell: (row) => <Time at={row.at} />,
    },
    {
      id: 'kind',
      header: t('billing.kind'),
      card: 'title',
      cell: (row) => <Badge tone={TONES[row.kind]}>{t(`billing.kinds.${row.kind}`)}</Badge>,
    },
    {
      id: 'cause',
      header: t('billing.cause'),
      cell: (row) => {
        const { requestId } = row;
        return requestId ? (
          <button
            type="button"
            onClick={() => onReceipt(requestId)}
            className="max-w-full truncate font-mono text-xs text-accent underline-offset-2 hover:underline"
          >
            {requestId}
          </button>
        ) : (
          <span className="break-words">{causeText(row, t, language)}</span>
        );
      },
    },
    {
      id: 'amount',
      header: t('billing.amount'),
      align: 'right',
      card: 'aside',
      sortsFirst: 'descending',
      amount: (row) => row.amountUsd,
      cell: (row) => (
        <Money
          usd={row.amountUsd}
          sign
          plain
          className={row.amountUsd.startsWith('-') ? '' : 'font-medium text-accent'}
        />
      ),
    },
  ];
}

function causeText({ archivedDay, cause }: Entry, t: TFunction, language: string): string {
  if (archivedDay) return t('billing.archived', { day: formatUtcDay(archivedDay, language, 'long') });
  return cause === WELCOME ? t('welcome.cause') : cause;
}
