import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { AdminAuditItem } from '../../../../src/console/contract.ts';
import { usePages } from '../../../lib/pages.ts';
import { useSearchState } from '../../../lib/search.ts';
import { Card, Page } from '../../../ui/Card.tsx';
import { Picker } from '../../../ui/Combobox.tsx';
import { TextField } from '../../../ui/Field.tsx';
import { Pager } from '../../../ui/Pager.tsx';
import { Empty, ErrorState, SkeletonRows } from '../../../ui/States.tsx';
import { Table, type Column } from '../../../ui/Table.tsx';
import { Time } from '../../../ui/Time.tsx';
import { Form } from '../../../ui/Form.tsx';
import { actionOptions, actionText } from './action.ts';

export default function AuditPage() {
  const { t } = useTranslation();
  const [state, change] = useSearchState();
  return (
    <Page wide title={t('audit.title')} lead={t('audit.lead')}>
      <Form role="search" className="flex flex-wrap gap-3" onSubmit={() => undefined}>
        <TextField
          label={t('audit.actor')}
          value={state['actor'] ?? ''}
          onChange={(event) => change({ actor: event.target.value.trim() })}
        />
        <Picker
          label={t('audit.action')}
          value={state['action'] ?? ''}
          onChange={(action) => change({ action })}
          options={[
            { value: '', label: t('common.all') },
            ...actionOptions(t('audit.actions', { returnObjects: true })),
          ]}
          fieldClassName="w-72 max-sm:w-full"
        />
      </Form>
      <AuditList actor={state['actor']} action={state['action']} />
    </Page>
  );
}

function AuditList({ actor, action }: { actor: string | undefined; action: string | undefined }) {
  const { t } = useTranslation();
  const pages = usePages('GET /api/console/admin/audit', { query: { actor, action } });
  if (pages.error && !pages.data)
    return <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />;
  if (!pages.data) return <SkeletonRows rows={10} />;
  const rows = pages.data.pages.flatMap((page) => page.items);
  return (
    <Card flush>
      {rows.length === 0 ? (
        <Empty title={actor || action ? t('audit.emptyFiltered') : t('audit.empty')} />
      ) : (
        <Table label={t('audit.title')} columns={auditColumns(t)} rows={rows} rowKey={(row) => row.id} />
      )}
      <Pager pages={pages} />
    </Card>
  );
}

function Detail({ detail }: { detail: Record<string, unknown> }) {
  return (
    <dl className="flex flex-wrap gap-x-3 text-xs">
      {Object.entries(detail).map(([key, value]) => (
        <div key={key} className="flex gap-1">
          <dt className="text-ink-3">{key}</dt>
          <dd className="break-all">{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function Action({ action, t }: { action: string; t: TFunction }) {
  const { text, isRefused } = actionText(action, t('audit.actions', { returnObjects: true }));
  return (
    <span title={action} className={isRefused ? 'text-bad' : ''}>
      {isRefused ? t('audit.refused', { action: text }) : text}
    </span>
  );
}

function Target({ row: { target, targetEmail } }: { row: AdminAuditItem }) {
  if (targetEmail === null) return <code className="text-xs break-all">{target}</code>;
  return (
    <Link
      href={`/admin/accounts?id=${encodeURIComponent(target)}`}
      title={target}
      className="break-all hover:text-accent hover:underline"
    >
      {targetEmail}
    </Link>
  );
}

function auditColumns(t: TFunction): Column<AdminAuditItem>[] {
  return [
    { id: 'time', header: t('audit.time'), cell: (row) => <Time at={row.at} /> },
    {
      id: 'actor',
      header: t('audit.actor'),
      cell: (row) => (
        <span className="break-all" title={row.actor}>
          {row.actorEmail ?? (row.actor === 'cli' ? t('audit.byCli') : row.actor)}
        </span>
      ),
    },
    {
      id: 'action',
      header: t('audit.action'),
      card: 'title',
      cell: (row) => <Action action={row.action} t={t} />,
    },
    {
      id: 'target',
      header: t('audit.target'),
      cell: (row) => <Target row={row} />,
    },
    { id: 'detail', header: t('audit.detail'), cell: (row) => <Detail detail={row.detail} /> },
  ];
}
