import type { TFunction } from 'i18next';
import type { Answer } from '../../../src/console/contract/routes.ts';
import { useAction } from '../../lib/action.ts';
import { fetchRoute, useApi } from '../../lib/api.ts';
import { saveFile } from '../../lib/browser.ts';
import { formatUtcMonth, useToday, formatUtcDay } from '../../lib/time.ts';
import { useSearchState } from '../../lib/search.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { useWallet } from '../../lib/wallet.ts';
import { Button } from '../../ui/Button.tsx';
import { Card, Page } from '../../ui/Card.tsx';
import { SelectField } from '../../ui/Field.tsx';
import { FormError, Empty, ErrorState, SkeletonRows } from '../../ui/States.tsx';
import { SeesMoney } from '../billing/SeesMoney.tsx';
import { Money } from '../../ui/Money.tsx';
import { Table } from '../../ui/Table.tsx';
import { DayRequests, requestsOfDay } from '../billing/columns.tsx';

type StatementMonth = Answer<'GET /api/console/statements'>[number];

export default function StatementsPage() {
  const { t } = useTranslation();
  return (
    <SeesMoney title={t('statements.title')}>
      <Statements />
    </SeesMoney>
  );
}

/** A month at a time: its statement once it is over, and its days, which open into their requests. */
function Statements() {
  const { t, i18n } = useTranslation();
  const [state, change] = useSearchState();
  const current = useToday().slice(0, 7);
  const { wallet, team } = useWallet();
  const over = useApi('GET /api/console/statements', { query: { wallet } }).data ?? [];
  const months = [current, ...over.map(({ month }) => month)];
  const month = months.find((one) => one === state['month']) ?? current;
  return (
    <Page
      title={t('statements.title')}
      lead={team ? t('statements.teamLead', { team: team.name }) : t('statements.lead')}
      actions={
        <SelectField
          label={t('statements.month')}
          hideLabel
          value={month}
          onChange={(event) => change({ month: event.target.value })}
        >
          {months.map((one) => (
            <option key={one} value={one}>
              {formatUtcMonth(one, i18n.language)}
            </option>
          ))}
        </SelectField>
      }
    >
      <Statement key={`${wallet} ${month}`} month={month} listed={over.find((one) => one.month === month)} />
      <Days month={month} />
    </Page>
  );
}

function Statement({ month, listed }: { month: string; listed: StatementMonth | undefined }) {
  const { t, i18n } = useTranslation();
  const { wallet } = useWallet();
  const language = i18n.language.startsWith('de') ? 'de' : 'en';
  const fetchFile = useAction(
    async (kind: 'pdf' | 'csv') => {
      const params = { month };
      const response =
        kind === 'pdf'
          ? await fetchRoute('GET /api/console/statements/{month}/pdf', {
              params,
              query: { language, wallet },
            })
          : await fetchRoute('GET /api/console/statements/{month}/csv', { params, query: { wallet } });
      const [, name] = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '') ?? [];
      saveFile(name ?? `statement-${month}.${kind}`, await response.blob());
    },
    { refresh: ['GET /api/console/statements'] },
  );
  return (
    <Card title={titleOf(listed, t)} hint={listed ? t('statements.exact') : t('statements.running')}>
      {listed ? (
        <div className="flex flex-wrap items-center gap-3">
          {(['pdf', 'csv'] as const).map((kind) => (
            <Button
              key={kind}
              busy={fetchFile.isPending && fetchFile.variables === kind}
              onClick={() => fetchFile.mutate(kind)}
            >
              {t(`statements.${kind}`)}
            </Button>
          ))}
        </div>
      ) : null}
      <FormError error={fetchFile.error} />
    </Card>
  );
}

function titleOf(listed: StatementMonth | undefined, t: TFunction): string {
  if (!listed) return t('statements.notYet');
  return listed.number === null
    ? t('statements.unissued')
    : t('statements.number', { number: String(listed.number) });
}

function Days({ month }: { month: string }) {
  const { t, i18n } = useTranslation();
  const { wallet } = useWallet();
  const days = useApi('GET /api/console/statements/{month}/days', { params: { month }, query: { wallet } });
  return (
    <Card flush title={t('statements.days')} hint={t('statements.daysHint')}>
      {days.error && !days.data ? (
        <ErrorState error={days.error} onRetry={() => void days.refetch()} />
      ) : null}
      {days.isPending ? <SkeletonRows rows={4} /> : null}
      {days.data?.length === 0 ? <Empty compact title={t('statements.noDays')} /> : null}
      {days.data && days.data.length > 0 ? (
        <Table
          label={t('statements.days')}
          rows={days.data}
          rowKey={(row) => row.day}
          columns={[
            {
              id: 'day',
              header: t('statements.day'),
              card: 'title',
              cell: (row) => formatUtcDay(row.day, i18n.language, 'long'),
            },
            {
              id: 'requests',
              header: t('statements.requests'),
              align: 'right',
              // On a card below the day: it says itself what it counts.
              card: 'title',
              cell: (row) => (
                <span className="text-sm font-normal">
                  <DayRequests day={row} href={requestsOfDay(wallet)(row.day)} />
                </span>
              ),
            },
            {
              id: 'charged',
              header: t('statements.charged'),
              align: 'right',
              card: 'aside',
              cell: (row) => <Money usd={row.chargedUsd} plain />,
            },
          ]}
        />
      ) : null}
    </Card>
  );
}
