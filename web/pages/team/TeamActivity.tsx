import { useState } from 'react';
import type { ItemOf } from '../../../src/console/contract/routes.ts';
import { usePages } from '../../lib/pages.ts';
import { textsOf, useTranslation } from '../../lib/translation.tsx';
import { Card } from '../../ui/Card.tsx';
import { Pager } from '../../ui/Pager.tsx';
import { Empty, ErrorState, SkeletonRows, Loaded, Skeleton } from '../../ui/States.tsx';
import { Table, type Column } from '../../ui/Table.tsx';
import { requestColumns } from '../requests/columns.tsx';
import { ReceiptSheet } from '../requests/ReceiptSheet.tsx';
import Download from 'lucide-react/icons/download';
import { urlOf, useApi } from '../../lib/api.ts';
import { addUsd } from '../../lib/money.ts';
import { LedgerLine } from '../../ui/LedgerLine.tsx';
import { Money } from '../../ui/Money.tsx';
import { formatRelative, useNow } from '../../lib/time.ts';

type TeamRequest = ItemOf<'GET /api/console/team/requests'>;

const SHOWN = 10;
const SHOWN_COLUMNS = new Set(['model', 'status', 'tokens', 'cost', 'duration']);

/** The newest requests of the team's accounts, each with its receipt. */
export function TeamRequests() {
  const { t } = useTranslation();
  const [open, setOpen] = useState<string>();
  const pages = usePages('GET /api/console/team/requests', { limit: SHOWN });
  const [time, ...others] = requestColumns(t);
  const account: Column<TeamRequest> = {
    id: 'account',
    header: t('team.account'),
    cell: (row) => <span className="block max-w-48 truncate">{row.account}</span>,
  };
  const columns = [...(time ? [time] : []), account, ...others.filter(({ id }) => SHOWN_COLUMNS.has(id))];
  const rows = pages.data?.pages.flatMap((page) => page.items);
  return (
    <Card flush title={t('team.requests')}>
      {pages.error && !rows ? (
        <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />
      ) : rows === undefined ? (
        <SkeletonRows />
      ) : rows.length === 0 ? (
        <Empty compact title={t('team.requestsNone')} />
      ) : (
        <>
          <Table
            label={t('team.requests')}
            rows={rows}
            rowKey={(row) => row.id}
            rowLabel={(row) => t('requests.openReceipt', { id: row.id })}
            onOpen={(row) => setOpen(row.id)}
            columns={columns}
          />
          <Pager pages={pages} note={null} />
        </>
      )}
      <ReceiptSheet isTeams id={open} onClose={() => setOpen(undefined)} />
    </Card>
  );
}

type Used = ItemOf<'GET /api/console/team/usage'>;

/** More than these are added up. */
const MOST_SHOWN = 5;

/** The largest costs, by account and model. */
export function TeamUsage() {
  const { t } = useTranslation();
  const usage = useApi('GET /api/console/team/usage');
  return (
    <Card
      title={t('team.usage')}
      hint={t('team.usageHint')}
      actions={
        <a
          href={urlOf('GET /api/console/team/usage.csv')}
          download
          className="inline-flex h-8 items-center gap-2 rounded-md border border-line bg-surface px-3 text-sm font-medium hover:bg-hover"
        >
          <Download size={14} aria-hidden />
          {t('requests.export')}
        </a>
      }
    >
      <Loaded query={usage} skeleton={<Skeleton className="h-20 w-full" />}>
        {({ items }) =>
          items.length === 0 ? <p className="text-ink-3">{t('team.usageNone')}</p> : <Lines items={items} />
        }
      </Loaded>
    </Card>
  );
}

function Lines({ items }: { items: readonly Used[] }) {
  const { t } = useTranslation();
  const others = items.slice(MOST_SHOWN);
  return (
    <dl className="flex flex-col gap-1.5">
      {items.slice(0, MOST_SHOWN).map((item) => (
        <LedgerLine
          key={`${item.account} ${item.endpoint} ${item.model}`}
          label={`${item.name} · ${item.model}`}
          value={<Money usd={item.chargedUsd} />}
        />
      ))}
      {others.length > 0 ? (
        <LedgerLine
          label={t('team.usageMore')}
          value={<Money usd={others.reduce((sum, { chargedUsd }) => addUsd(sum, chargedUsd), '0.00')} />}
        />
      ) : null}
    </dl>
  );
}

const REFUSED = '.refused';

/** The changes to the team and who made them, for its owners. */
export function TeamLog() {
  const { t, i18n } = useTranslation();
  const now = useNow();
  const log = useApi('GET /api/console/team/log');
  const texts = textsOf(t, 'team.logActions');
  const roles = textsOf(t, 'team.roles');
  const words = (action: string): string => {
    const isRefused = action.endsWith(REFUSED);
    const done = isRefused ? action.slice(0, -REFUSED.length) : action;
    // From a newer server it may be one that this page does not know.
    const text = texts[done.replace('team.', '')] ?? done;
    return isRefused ? t('team.logRefused', { action: text }) : text;
  };
  return (
    <Card title={t('team.log')} hint={t('team.logHint')}>
      <Loaded query={log} skeleton={<Skeleton className="h-20 w-full" />}>
        {({ items }) => (
          <ul className="thin-scroll flex max-h-80 flex-col divide-y divide-line overflow-y-auto">
            {items.map(({ id, at, by, action, account, role }) => (
              <li key={id} className="flex flex-wrap items-baseline gap-x-3 py-1.5 text-sm">
                <span className="min-w-0 flex-1 basis-60">
                  <span className="font-medium">{by ?? t('team.logOperator')}</span> {words(action)}
                  {account === null ? null : <span className="text-ink-3"> · {account}</span>}
                  {role === null ? null : <span className="text-ink-3"> · {roles[role] ?? role}</span>}
                </span>
                <span className="text-ink-3">{formatRelative(at, now, i18n.language)}</span>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Card>
  );
}
