import type { TFunction } from 'i18next';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { AdminMessage } from '../../../../src/console/contract.ts';
import { useNow } from '../../../lib/now.ts';
import { usePages } from '../../../lib/pages.ts';
import { useSearchState } from '../../../lib/search.ts';
import { formatRelative } from '../../../lib/time.ts';
import { Badge, type Tone } from '../../../ui/Badge.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { Dialog } from '../../../ui/Dialog.tsx';
import { Pager } from '../../../ui/Pager.tsx';
import { Segments } from '../../../ui/Segments.tsx';
import { Empty, ErrorState, SkeletonRows } from '../../../ui/States.tsx';
import { Table, type Column } from '../../../ui/Table.tsx';
import { Time } from '../../../ui/Time.tsx';
import { OPERATOR_WEBHOOKS } from '../../webhooks/calls.ts';
import { useEventName } from '../../webhooks/eventName.ts';
import { Webhooks } from '../../webhooks/Webhooks.tsx';
import { MailCard } from './MailCard.tsx';

const STATES = ['all', 'waiting', 'sent', 'failed'] as const;

/** What leaves the house: mail, the operator's own webhooks, and every message with its attempts. */
export default function MessagesPage() {
  const { t } = useTranslation();
  return (
    <Page wide title={t('messages.title')} lead={t('messages.lead')}>
      <MailCard />
      <section className="flex flex-col gap-3">
        <h2 className="text-base font-semibold tracking-tight">{t('messages.ownWebhooks')}</h2>
        <p className="text-sm text-ink-3">{t('messages.ownWebhooksLead')}</p>
        <Webhooks calls={OPERATOR_WEBHOOKS} urlHint={t('webhooks.operatorUrlHint')} />
      </section>
      <MessageList />
    </Page>
  );
}

function MessageList() {
  const { t } = useTranslation();
  const eventName = useEventName();
  const [search, change] = useSearchState();
  const state = STATES.find((one) => one === search['state']) ?? 'all';
  const [opened, setOpened] = useState<AdminMessage>();
  const pages = usePages('GET /api/console/admin/messages', {
    query: { state: state === 'all' ? undefined : state },
    refetchInterval: 10_000,
  });
  const rows = pages.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Card
      flush
      title={t('messages.list')}
      actions={
        <Segments
          label={t('messages.filter')}
          value={state}
          onChange={(next) => change({ state: next === 'all' ? '' : next })}
          options={STATES.map((value) => ({
            value,
            label: value === 'all' ? t('common.all') : t(`messages.state.${value}`),
          }))}
        />
      }
    >
      {pages.error && !pages.data ? (
        <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />
      ) : null}
      {pages.isPending ? <SkeletonRows rows={5} /> : null}
      {pages.data && rows.length === 0 ? <Empty compact title={t('messages.empty')} /> : null}
      {rows.length > 0 ? (
        <Table
          label={t('messages.list')}
          columns={columns(t, eventName)}
          rows={rows}
          rowKey={(row) => row.id}
          onOpen={setOpened}
          rowLabel={(row) => `${eventName(row.topic)} ${row.destination ?? ''}`}
        />
      ) : null}
      <Pager pages={pages} />
      {opened ? <Attempts message={opened} onClose={() => setOpened(undefined)} /> : null}
    </Card>
  );
}

const TONES: Record<AdminMessage['state'], Tone> = { waiting: 'neutral', sent: 'good', failed: 'bad' };

function columns(t: TFunction, eventName: (event: string) => string): Column<AdminMessage>[] {
  return [
    {
      id: 'what',
      header: t('messages.what'),
      card: 'title',
      cell: (row) => (
        <span className="flex flex-wrap items-center gap-2">
          {eventName(row.topic)} <span className="text-xs text-ink-3">{t(`messages.kind.${row.kind}`)}</span>
        </span>
      ),
    },
    {
      id: 'to',
      header: t('messages.to'),
      cell: (row) => <span className="text-sm break-all">{row.destination ?? t('messages.removed')}</span>,
    },
    { id: 'created', header: t('messages.created'), cell: (row) => <Time at={row.createdAt} /> },
    {
      id: 'attempts',
      header: t('messages.attempts'),
      cell: (row) => (
        <span className="text-sm">
          {row.attempts.length === 0
            ? t('messages.noAttempt')
            : t('messages.attempt', { count: row.attempts.length })}
        </span>
      ),
    },
    {
      id: 'state',
      header: t('messages.filter'),
      align: 'right',
      card: 'aside',
      cell: (row) => <Badge tone={TONES[row.state]}>{t(`messages.state.${row.state}`)}</Badge>,
    },
  ];
}

function Attempts({ message, onClose }: { message: AdminMessage; onClose: () => void }) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  return (
    <Dialog open title={t('messages.details')} onClose={onClose}>
      <p className="mb-3 text-sm break-all text-ink-3">
        <code>{message.id}</code>
      </p>
      {message.attempts.length === 0 ? <p>{t('messages.noAttempt')}</p> : null}
      <ol className="flex flex-col gap-2">
        {message.attempts.map((attempt) => (
          <li key={attempt.at} className="flex flex-wrap gap-x-3 text-sm">
            <Time at={attempt.at} style="full" />
            <span className="tabular-nums text-ink-3">{attempt.ms} ms</span>
            <span className={attempt.error === null ? 'text-accent' : 'text-bad'}>
              {attempt.error ?? t('messages.arrived')}
            </span>
          </li>
        ))}
      </ol>
      {message.nextAt === null ? null : (
        <p className="mt-3 text-sm text-ink-3">
          {t('messages.next', { when: formatRelative(message.nextAt, now, i18n.language) })}
        </p>
      )}
    </Dialog>
  );
}
