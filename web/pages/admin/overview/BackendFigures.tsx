import type { TFunction } from 'i18next';
import type { AdminOverview } from '../../../lib/answers.ts';
import { formatDuration, formatPercent } from '../../../lib/numbers.ts';
import { formatTime } from '../../../lib/time.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Dot, type Tone } from '../../../ui/Badge.tsx';
import { Card } from '../../../ui/Card.tsx';
import { Link } from '../../../ui/Link.tsx';
import { Count, Nothing } from '../../../ui/Numbers.tsx';
import { Table, type Column } from '../../../ui/Table.tsx';

type AdminBackendFigures = AdminOverview['backends'][number];

/** A share of failed calls at which hardly anything works. */
export const MOST = 0.5;

/** A closed breaker lets traffic through: closed is good here. */
export const BREAKER_TONES: Record<AdminBackendFigures['state'], Tone> = {
  closed: 'good',
  half_open: 'warn',
  open: 'bad',
};

/** How fast each backend answered lately, and how often it failed. */
export function BackendFigures({ backends, sample }: Pick<AdminOverview, 'backends' | 'sample'>) {
  const { t, i18n } = useTranslation();
  const hint = sample
    ? t('cockpit.sample', {
        count: sample.requests,
        when: formatTime(sample.since, i18n.language, 'short'),
      })
    : t('cockpit.noSample');
  return (
    <Card flush title={t('cockpit.latency')} hint={hint}>
      <Table
        label={t('cockpit.latency')}
        rows={backends}
        rowKey={(row) => row.name}
        columns={columns(t, i18n.language)}
      />
    </Card>
  );
}

function columns(t: TFunction, language: string): Column<AdminBackendFigures>[] {
  const time = (
    id: string,
    header: string,
    of: (row: AdminBackendFigures) => number | undefined,
  ): Column<AdminBackendFigures> => ({
    id,
    header,
    align: 'right',
    cell: (row) => {
      const ms = of(row);
      return ms === undefined ? (
        <Nothing />
      ) : (
        <span className="whitespace-nowrap tabular-nums">{formatDuration(ms, language)}</span>
      );
    },
  });
  const [first, whole, p50, p95] = [
    t('cockpit.firstByte'),
    t('cockpit.whole'),
    t('cockpit.p50'),
    t('cockpit.p95'),
  ];
  return [
    {
      id: 'name',
      header: t('cockpit.backend'),
      card: 'title',
      cell: (row) => (
        <Link href="/admin/backends" className="font-mono text-sm hover:text-accent hover:underline">
          {row.name}
        </Link>
      ),
    },
    { id: 'state', header: t('cockpit.state'), card: 'aside', cell: (row) => <State row={row} /> },
    { id: 'calls', header: t('cockpit.calls'), align: 'right', cell: (row) => <Count value={row.calls} /> },
    {
      id: 'errors',
      header: t('cockpit.errors'),
      align: 'right',
      cell: (row) => <Errors row={row} language={language} />,
    },
    time('first50', `${first}, ${p50}`, (row) => row.firstByteMs?.p50),
    time('first95', `${first}, ${p95}`, (row) => row.firstByteMs?.p95),
    time('whole50', `${whole}, ${p50}`, (row) => row.durationMs?.p50),
    time('whole95', `${whole}, ${p95}`, (row) => row.durationMs?.p95),
  ];
}

function State({ row }: { row: AdminBackendFigures }) {
  const { t } = useTranslation();
  const [tone, label] = stateOf(row, t);
  return (
    <span className="inline-flex items-center gap-2 whitespace-nowrap">
      <span aria-hidden className="inline-grid">
        <Dot tone={tone} label={label} />
      </span>
      {label}
    </span>
  );
}

function stateOf(row: AdminBackendFigures, t: TFunction): [Tone, string] {
  if (row.isPaused) return ['neutral', t('backends.pausedByYou')];
  if (row.state === 'closed' && row.hasFailedTest) return ['bad', t('backends.failedTest')];
  // One that nobody called is not known to work, and one that mostly fails does not.
  if (row.state === 'closed' && row.calls === 0) return ['neutral', t('backends.idle')];
  if (row.state === 'closed' && row.failures / row.calls >= MOST) return ['bad', t('backends.failing')];
  return [BREAKER_TONES[row.state], t(`backends.state.${row.state}`)];
}

function Errors({ row, language }: { row: AdminBackendFigures; language: string }) {
  if (row.calls === 0) return <Nothing />;
  const rate = row.failures / row.calls;
  return (
    <span className={`tabular-nums ${rate >= 0.05 ? 'font-medium text-bad' : ''}`}>
      {formatPercent(rate, language)}
    </span>
  );
}
