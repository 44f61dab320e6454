import { useTranslation } from 'react-i18next';
import type { TFunction } from 'i18next';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { UsageReport } from '../../../src/console/contract.ts';
import { hrefWith } from '../../lib/search.ts';
import { formatUtcDay } from '../../lib/time.ts';
import { Card } from '../../ui/Card.tsx';
import { Money } from '../../ui/Money.tsx';
import { Count, Nothing } from '../../ui/Numbers.tsx';
import { Segments } from '../../ui/Segments.tsx';
import { Table, type Column } from '../../ui/Table.tsx';
import { groupUsage, type GroupBy, type UsageGroup } from './group.ts';

interface UsageTableProps {
  readonly usage: UsageReport;
  readonly by: GroupBy;
  readonly onBy: (by: GroupBy) => void;
}

/** The figures behind the chart. Input is split into fresh and cached, because they cost differently. */
export function UsageTable({ usage, by, onBy }: UsageTableProps) {
  const { t } = useTranslation();
  const groups = groupUsage(usage.rows, by);
  const href = (group: UsageGroup, status?: string): string =>
    hrefWith('/app/requests', {
      from: group.day ?? usage.from,
      to: group.day ?? usage.to,
      zone: 'utc',
      model: group.model,
      endpoint: group.endpoint,
      status,
    });
  return (
    <Card
      flush
      actions={
        <Segments
          label={t('usage.by')}
          value={by}
          onChange={onBy}
          options={[
            { value: 'model', label: t('usage.byModel') },
            { value: 'endpoint', label: t('usage.byEndpoint') },
            { value: 'day', label: t('usage.byDay') },
          ]}
        />
      }
    >
      <Table
        label={t('usage.title')}
        columns={[titleColumn(t, by), ...countColumns(t, href)]}
        rows={[...groups, { key: 'total', total: true, counts: usage.totals }]}
        rowKey={(group) => group.key}
      />
    </Card>
  );
}

function titleColumn(t: TFunction, by: GroupBy): Column<UsageGroup> {
  const headers = { day: t('charts.day'), model: t('usage.byModel'), endpoint: t('usage.byEndpoint') };
  return { id: 'title', header: headers[by], card: 'title', cell: (group) => <GroupName group={group} /> };
}

function GroupName({ group }: { group: UsageGroup }) {
  const { t, i18n } = useTranslation();
  if (group.total) return <span className="font-semibold">{t('usage.total')}</span>;
  if (group.day) return formatUtcDay(group.day, i18n.language, 'long');
  if (!group.model) return <code>{group.endpoint}</code>;
  return (
    <span>
      {group.model}
      <span className="block font-mono text-xs text-ink-3">{group.endpoint}</span>
    </span>
  );
}

function countColumns(
  t: TFunction,
  href: (group: UsageGroup, status?: string) => string,
): Column<UsageGroup>[] {
  const linked = (value: ReactNode, group: UsageGroup, status?: string): ReactNode => (
    <Link href={href(group, status)} className="underline-offset-2 hover:text-accent hover:underline">
      {value}
    </Link>
  );
  const number = (
    id: string,
    header: string,
    read: (group: UsageGroup) => number,
    status?: string,
  ): Column<UsageGroup> => ({
    id,
    header,
    align: 'right',
    cell: (group) => (read(group) === 0 ? <Nothing /> : linked(<Count value={read(group)} />, group, status)),
  });
  return [
    number('requests', t('usage.requests'), ({ counts }) => counts.requests),
    number('failures', t('usage.failures'), ({ counts }) => counts.failures, 'failed'),
    number('input', t('usage.inputFresh'), ({ counts }) => counts.inputTokens - counts.cachedTokens),
    number('cached', t('usage.cached'), ({ counts }) => counts.cachedTokens),
    number('output', t('usage.output'), ({ counts }) => counts.outputTokens),
    number('reasoning', t('usage.reasoning'), ({ counts }) => counts.reasoningTokens),
    number('images', t('usage.images'), ({ counts }) => counts.images),
    {
      id: 'charged',
      header: t('usage.charged'),
      align: 'right',
      card: 'aside',
      amount: (group) => group.counts.chargedUsd,
      cell: (group) => (
        <span className={group.total ? 'font-semibold' : ''}>
          {linked(<Money usd={group.counts.chargedUsd} />, group)}
        </span>
      ),
    },
  ];
}
