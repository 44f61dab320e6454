import type { TFunction } from 'i18next';
import { useMemo, useState } from 'react';
import type { ItemOf } from '../../../../src/console/contract/routes.ts';
import { useAction } from '../../../lib/action.ts';
import { useApi, call } from '../../../lib/api.ts';
import { formatRelative, useNow } from '../../../lib/time.ts';
import { usePages } from '../../../lib/pages.ts';
import { oneOf } from '../../../lib/search.ts';
import { NEWEST_FIRST, useTable } from '../../../lib/table.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Badge, type Tone } from '../../../ui/Badge.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { Dialog } from '../../../ui/Dialog.tsx';
import { Changeable } from '../../../ui/Form.tsx';
import { Empty, FormError, Loaded, Skeleton } from '../../../ui/States.tsx';
import type { Column } from '../../../ui/Table.tsx';
import { TableFilter, TableFilters } from '../../../ui/TableFilters.tsx';
import { TableList } from '../../../ui/TableList.tsx';
import { Time } from '../../../ui/Time.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { OPERATOR_WEBHOOKS, useEventName } from '../../webhooks/calls.ts';
import { Webhooks } from '../../webhooks/Webhooks.tsx';

type AdminMessage = ItemOf<'GET /api/console/admin/messages'>;

const STATES = ['waiting', 'sent', 'failed'] as const;

/** Outgoing messages: mail, the operator's own webhooks, and every message with its attempts. */
export default function MessagesPage() {
  const { t } = useTranslation();
  return (
    <Page wide title={t('messages.title')} lead={t('messages.lead')}>
      <Changeable right="see_business" otherwise={null}>
        <MailCard />
        <section className="flex flex-col gap-3">
          <h2 className="text-base font-semibold tracking-tight">{t('messages.ownWebhooks')}</h2>
          <p className="text-sm text-ink-3">{t('messages.ownWebhooksLead')}</p>
          <Changeable right="change_settings">
            <Webhooks calls={OPERATOR_WEBHOOKS} urlHint={t('webhooks.operatorUrlHint')} />
          </Changeable>
        </section>
      </Changeable>
      <MessageList />
    </Page>
  );
}

/** How mail is sent, and a test mail to whoever presses the button. */
function MailCard() {
  const { t } = useTranslation();
  const state = useApi('GET /api/console/admin/mail');
  const test = useAction(async () => await call('POST /api/console/admin/mail/test'), {
    refresh: ['GET /api/console/admin/messages'],
    onDone: ({ error }) =>
      error === null ? toast(t('messages.mailOk')) : toast(t('messages.mailFailed', { error }), 'bad'),
  });
  return (
    <Card title={t('messages.mail')}>
      <Loaded query={state} skeleton={<Skeleton className="h-10 w-full" />}>
        {({ mail }) =>
          mail ? (
            <div className="flex flex-wrap items-center gap-3">
              <p className="min-w-0 flex-1 basis-60 break-all">{t('messages.mailOn', mail)}</p>
              <Changeable right="change_settings">
                <Button small busy={test.isPending} onClick={() => test.mutate()}>
                  {t('messages.mailTest')}
                </Button>
              </Changeable>
            </div>
          ) : (
            <p className="text-ink-2">{t('messages.mailOff')}</p>
          )
        }
      </Loaded>
      <FormError error={test.error} />
    </Card>
  );
}

function MessageList() {
  const { t } = useTranslation();
  const eventName = useEventName();
  const table = useTable({
    fields: ['state', 'kind', 'topic'],
    sorts: { offered: ['time', 'topic', 'to', 'attempts'], usual: NEWEST_FIRST },
  });
  const [opened, setOpened] = useState<AdminMessage>();
  const shown = useMemo(() => columns(t, eventName), [t, eventName]);
  const pages = usePages('GET /api/console/admin/messages', {
    query: table.query,
    refetchInterval: 10_000,
  });
  const values = useApi('GET /api/console/admin/list-values').data;
  return (
    <Card flush title={t('messages.list')}>
      <TableFilters table={table} searchLabel={t('messages.search')} className="px-5 pb-4">
        <TableFilter
          table={table}
          field="topic"
          label={t('messages.what')}
          values={values?.messageTopics}
          name={eventName}
        />
        <TableFilter
          table={table}
          field="kind"
          label={t('messages.way')}
          values={['mail', 'webhook']}
          name={(kind) => t(kind === 'mail' ? 'messages.kind.mail' : 'messages.kind.webhook')}
        />
        <TableFilter
          table={table}
          field="state"
          label={t('messages.filter')}
          values={STATES}
          name={(state) => t(`messages.state.${oneOf(state, STATES)}`)}
        />
      </TableFilters>
      <TableList
        pages={pages}
        table={table}
        label={t('messages.list')}
        columns={shown}
        rowKey={(row) => row.id}
        rowLabel={(row) => `${eventName(row.topic)} ${row.destination ?? ''}`}
        onOpen={setOpened}
        empty={<Empty compact title={t('messages.empty')} />}
      />
      {opened ? <Attempts message={opened} onClose={() => setOpened(undefined)} /> : null}
    </Card>
  );
}

const TONES: Record<AdminMessage['state'], Tone> = { waiting: 'neutral', sent: 'good', failed: 'bad' };

function columns(t: TFunction, eventName: (event: string) => string): Column<AdminMessage>[] {
  return [
    {
      id: 'topic',
      header: t('messages.what'),
      card: 'title',
      sortsFirst: 'ascending',
      cell: (row) => (
        <span className="flex flex-wrap items-center gap-2">
          {eventName(row.topic)} <span className="text-xs text-ink-3">{t(`messages.kind.${row.kind}`)}</span>
        </span>
      ),
    },
    {
      id: 'to',
      header: t('messages.to'),
      sortsFirst: 'ascending',
      cell: (row) => (
        <span className="text-sm break-all">
          {row.destination ?? t('messages.removed')}
          {row.email && row.email !== row.destination ? (
            <span className="block text-xs text-ink-3">{row.email}</span>
          ) : null}
        </span>
      ),
    },
    {
      id: 'time',
      header: t('messages.created'),
      sortsFirst: 'descending',
      cell: (row) => <Time at={row.createdAt} />,
    },
    {
      id: 'attempts',
      header: t('messages.attempts'),
      sortsFirst: 'descending',
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
