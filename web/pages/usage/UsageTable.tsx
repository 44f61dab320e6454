import type { TFunction } from 'i18next';
import { memo, type ReactNode } from 'react';
import type { UsageReport, UsageSaved } from '../../lib/answers.ts';
import { addUsd, approximate } from '../../lib/money.ts';
import { hrefWith, type SearchState } from '../../lib/search.ts';
import { useShownRows } from '../../lib/pages.ts';
import { sortingOf, sortRows, type Sort } from '../../lib/table.ts';
import { formatHour, formatUtcDay } from '../../lib/time.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Card } from '../../ui/Card.tsx';
import { Link } from '../../ui/Link.tsx';
import { Money } from '../../ui/Money.tsx';
import { Count, Nothing } from '../../ui/Numbers.tsx';
import { ShowMore } from '../../ui/Pager.tsx';
import { Segments } from '../../ui/Segments.tsx';
import { Table, type Column } from '../../ui/Table.tsx';
import { GROUPINGS, usageLines, type GroupBy, type UsageLine } from './choices.ts';

/** The rest is one line; days and hours are a list. */
const FIRST = 10;
const FIRST_TIMES = 31;

interface UsageTableProps {
  readonly usage: UsageReport;
  readonly by: GroupBy;
  readonly drawing: SearchState;
  readonly change: (next: Record<string, string | undefined>) => void;
}

interface LineColumn extends Column<UsageLine> {
  readonly value: (line: UsageLine) => number | string;
}

/** The figures behind the chart. Input is split into fresh and cached, because they cost differently. */
export const UsageTable = memo(function UsageTable({ usage, by, drawing, change }: UsageTableProps) {
  const { t } = useTranslation();
  const href = ({ group }: UsageLine, status?: string): string =>
    hrefWith('/app/requests', {
      from: group?.day ?? usage.from,
      to: group?.day ?? usage.to,
      zone: 'utc',
      model: group?.model ?? undefined,
      endpoint: group?.endpoint ?? undefined,
      client: group?.client ?? undefined,
      status,
    });
  const columns: LineColumn[] = [titleColumn(t, by), ...countColumns(t, href, usage)];
  const usual: Sort = isTime(by) ? { by: 'title', descending: true } : { by: 'charged', descending: true };
  const sorting = sortingOf(drawing, change, { offered: columns.map(({ id }) => id), usual });
  const { groups, ends } = sorted(usage, columns, sorting.current);
  const { rows, ...more } = useShownRows(
    groups,
    `${by} ${usage.from} ${usage.to}`,
    isTime(by) ? FIRST_TIMES : FIRST,
  );
  const rest = isTime(by) ? [] : groups.slice(rows.length);
  return (
    <Card
      flush
      actions={
        <Segments
          label={t('usage.by')}
          value={by}
          onChange={(next) => change({ by: next, sort: undefined, series: undefined })}
          options={GROUPINGS.map((value) => ({ value, label: t(`usage.grouped.${value}`) }))}
        />
      }
    >
      <Table
        label={t('usage.title')}
        columns={columns}
        rows={[
          ...rows,
          ...restOf(
            rest,
            ends.filter(({ kind }) => kind === 'total' || !isTime(by) || !more.showMore),
          ),
        ]}
        rowKey={(line) => line.key}
        sorting={sorting}
      />
      <ShowMore {...more} />
      <p className="px-5 py-3 text-sm text-ink-3">{t('usage.rounded')}</p>
      {by === 'client' || by === 'hour' ? (
        <div className="px-5 pb-4 empty:hidden">
          <MissingNote missing={usage.missing} />
        </div>
      ) : null}
    </Card>
  );
});

function sorted(
  usage: UsageReport,
  columns: readonly LineColumn[],
  sort: Sort,
): { readonly groups: readonly UsageLine[]; readonly ends: readonly UsageLine[] } {
  const lines = usageLines(usage.groups, usage.others, usage.totals);
  const column = columns.find(({ id }) => id === sort.by);
  const groups = lines.filter(({ kind }) => kind === 'group');
  return {
    groups: column ? sortRows(groups, sort, column.value) : groups,
    ends: lines.slice(groups.length),
  };
}

/** The lines that are not shown, as one line before the total. */
function restOf(rest: readonly UsageLine[], ends: readonly UsageLine[]): UsageLine[] {
  const others = ends.filter(({ kind }) => kind === 'others');
  const totals = ends.filter(({ kind }) => kind === 'total');
  const [first, ...more] = [...rest, ...others];
  if (!first) return totals;
  const counts = more.reduce((sum, line) => added(sum, line.counts), first.counts);
  // How many are behind a line of others is not known.
  const groups = others.length === 0 ? rest.length : undefined;
  return [{ key: 'others', kind: 'others', counts, groups }, ...totals];
}

function added(left: UsageSaved, right: UsageSaved): UsageSaved {
  return {
    requests: left.requests + right.requests,
    failures: left.failures + right.failures,
    inputTokens: left.inputTokens + right.inputTokens,
    cachedTokens: left.cachedTokens + right.cachedTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    reasoningTokens: left.reasoningTokens + right.reasoningTokens,
    images: left.images + right.images,
    chargedUsd: addUsd(left.chargedUsd, right.chargedUsd),
    savedUsd: addUsd(left.savedUsd, right.savedUsd),
  };
}

function titleColumn(t: TFunction, by: GroupBy): LineColumn {
  return {
    id: 'title',
    header: t(`usage.grouped.${by}`),
    card: 'title',
    sortsFirst: isTime(by) ? 'descending' : 'ascending',
    value: ({ group }) => group?.day ?? group?.hour ?? group?.client ?? group?.model ?? group?.endpoint ?? '',
    cell: (line) => <LineName line={line} by={by} />,
  };
}

function isTime(by: GroupBy): by is 'day' | 'hour' {
  return by === 'day' || by === 'hour';
}

function LineName({ line: { kind, group, groups }, by }: { line: UsageLine; by: GroupBy }) {
  const { t, i18n } = useTranslation();
  if (kind === 'total') return <span className="font-semibold">{t('usage.total')}</span>;
  if (!group)
    return (
      <span className="text-ink-2">
        {groups === undefined || isTime(by)
          ? t(`usage.rest.${by}`)
          : t(`usage.otherGroups.${by}`, { count: groups })}
      </span>
    );
  if (group.day) return formatUtcDay(group.day, i18n.language, 'long');
  if (group.hour !== null) return formatHour(group.hour, i18n.language);
  if (group.client !== null) return group.client || <span className="text-ink-2">{t('usage.unnamed')}</span>;
  if (!group.model) return <code>{group.endpoint}</code>;
  return (
    <span>
      {group.model}
      <span className="block font-mono text-xs text-ink-3">{group.endpoint}</span>
    </span>
  );
}

/** The log has no filter for an hour, for a client without a name, or for everything but the listed groups. */
function canFilter({ kind, group }: UsageLine): boolean {
  return kind !== 'others' && (group?.hour ?? null) === null && group?.client !== '';
}

type Href = (line: UsageLine, status?: string) => string;

function linked(value: ReactNode, line: UsageLine, href: string): ReactNode {
  if (!canFilter(line)) return value;
  return (
    <Link href={href} className="underline-offset-2 hover:text-accent hover:underline">
      {value}
    </Link>
  );
}

function countColumns(t: TFunction, href: Href, { totals }: UsageReport): LineColumn[] {
  const number = (
    id: string,
    header: string,
    value: (line: UsageLine) => number,
    status?: string,
  ): LineColumn => ({
    id,
    header,
    align: 'right',
    sortsFirst: 'descending',
    value,
    cell: (line) =>
      value(line) === 0 ? <Nothing /> : linked(<Count value={value(line)} />, line, href(line, status)),
  });
  return [
    number('requests', t('usage.requests'), ({ counts }) => counts.requests),
    number('failures', t('usage.failures'), ({ counts }) => counts.failures, 'failed'),
    number('input', t('usage.inputFresh'), ({ counts }) => counts.inputTokens - counts.cachedTokens),
    number('cached', t('usage.cached'), ({ counts }) => counts.cachedTokens),
    number('output', t('usage.output'), ({ counts }) => counts.outputTokens),
    ...(totals.reasoningTokens === 0
      ? []
      : [number('reasoning', t('usage.reasoning'), ({ counts }) => counts.reasoningTokens)]),
    ...(totals.images === 0 ? [] : [number('images', t('usage.images'), ({ counts }) => counts.images)]),
    ...(approximate(totals.savedUsd) === 0 ? [] : [savedColumn(t)]),
    {
      id: 'charged',
      header: t('usage.charged'),
      align: 'right',
      card: 'aside',
      sortsFirst: 'descending',
      value: ({ counts }) => approximate(counts.chargedUsd),
      cell: (line) => (
        <span className={line.kind === 'total' ? 'font-semibold' : ''}>
          {linked(<Money usd={line.counts.chargedUsd} />, line, href(line))}
        </span>
      ),
    },
  ];
}

function savedColumn(t: TFunction): LineColumn {
  return {
    id: 'saved',
    header: t('usage.saved'),
    align: 'right',
    sortsFirst: 'descending',
    value: ({ counts }) => approximate(counts.savedUsd),
    cell: ({ counts }) =>
      approximate(counts.savedUsd) === 0 ? <Nothing /> : <Money usd={counts.savedUsd} />,
  };
}

/** Requests that are missing from the sums by hour and client. */
export function MissingNote({ missing }: { missing: number }) {
  const { t } = useTranslation();
  if (missing === 0) return null;
  return <p className="mt-3 max-w-[80ch] text-sm text-ink-3">{t('usage.missing', { count: missing })}</p>;
}
