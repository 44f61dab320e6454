import type { TFunction } from 'i18next';
import type { Answer, ItemOf } from '../../../src/console/contract/routes.ts';
import type { Wallet } from '../../lib/api.ts';
import { Badge, type Tone } from '../../ui/Badge.tsx';
import { Link } from '../../ui/Link.tsx';
import { Money } from '../../ui/Money.tsx';
import type { Column } from '../../ui/Table.tsx';
import { hrefWith } from '../../lib/search.ts';
import { formatUtcDay } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Time } from '../../ui/Time.tsx';

type StatementDay = Answer<'GET /api/console/statements/{month}/days'>[number];

type Entry = ItemOf<'GET /api/console/entries'>;

/** The cause as the server writes it. */
const WELCOME = 'welcome credit';

const TONES: Record<Entry['kind'], Tone> = {
  credit: 'good',
  refund: 'good',
  charge: 'neutral',
  adjustment: 'warn',
  overrun: 'bad',
};

interface EntryLinks {
  readonly onReceipt: (requestId: string) => void;
  /** The requests of a day, from which a line of charges comes. */
  readonly requestsHref: (day: string) => string;
}

/** Lines of a statement: the charges of a day lead to its requests, a refund to the request that it is for. */
export function entryColumns(
  { t, i18n: { language } }: { t: TFunction; i18n: { language: string } },
  { onReceipt, requestsHref }: EntryLinks,
): Column<Entry>[] {
  return [
    {
      id: 'time',
      header: t('billing.time'),
      cell: (row) =>
        row.charges ? (
          <span className="whitespace-nowrap">{formatUtcDay(row.charges.day, language, 'date')}</span>
        ) : (
          <Time at={row.at} />
        ),
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
        const { requestId, charges } = row;
        if (charges)
          return (
            <>
              {charges.model ? <DayModels model={charges.model} models={charges.models ?? 1} /> : null}
              <DayRequests day={charges} href={requestsHref(charges.day)} />
            </>
          );
        return requestId ? (
          <button
            type="button"
            onClick={() => onReceipt(requestId)}
            className="max-w-full truncate font-mono text-xs text-accent underline-offset-2 hover:underline"
          >
            {requestId}
          </button>
        ) : (
          <span className="break-words">{row.cause === WELCOME ? t('welcome.cause') : row.cause}</span>
        );
      },
    },
    {
      id: 'amount',
      header: t('billing.amount'),
      align: 'right',
      card: 'aside',
      cell: (row) => (
        <Money
          usd={row.amountUsd}
          kind={isSingle(row) ? 'charge' : 'sum'}
          sign
          plain
          className={row.amountUsd.startsWith('-') ? '' : 'font-medium text-accent'}
        />
      ),
    },
  ];
}

/** An entry of a single request, which is often less than a cent. */
function isSingle({ requestId }: Entry): boolean {
  return requestId !== null;
}

/** The requests of a UTC day that a wallet paid for. A team's are listed on its page. */
export function requestsOfDay(wallet: Wallet): (day: string) => string {
  return (day) =>
    wallet === 'team' ? '/app/team' : hrefWith('/app/requests', { from: day, to: day, zone: 'utc' });
}

/** The model that cost most, and how many others there were. */
function DayModels({ model, models }: { model: string; models: number }) {
  const { t } = useTranslation();
  return (
    <span className="mr-2 break-words">
      {models > 1 ? t('billing.andOthers', { model, count: models - 1 }) : model}
      <span aria-hidden className="ml-2 text-ink-3">
        ·
      </span>
    </span>
  );
}

interface DayRequestsProps {
  readonly day: Pick<StatementDay, 'requests' | 'archived'>;
  readonly href: string;
}

/** How many requests a day had; they open in the log, unless their receipts have left. */
export function DayRequests({ day: { requests, archived }, href }: DayRequestsProps) {
  const { t } = useTranslation();
  const count = t('billing.requests', { count: requests });
  if (archived)
    return (
      <>
        {count} <span className="text-ink-3">{t('statements.archivedDay')}</span>
      </>
    );
  return (
    <Link href={href} className="text-accent underline underline-offset-2">
      {count}
    </Link>
  );
}
