import type { TFunction } from 'i18next';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { AdminBackend } from '../../../../src/console/contract.ts';
import { useAction } from '../../../lib/action.ts';
import { call, useApi } from '../../../lib/api.ts';
import { classes } from '../../../lib/classes.ts';
import { formatDuration, formatPercent } from '../../../lib/numbers.ts';
import { Badge, Dot, type Tone } from '../../../ui/Badge.tsx';
import { Button, LinkButton } from '../../../ui/Button.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { Count, Duration } from '../../../ui/Numbers.tsx';
import { Empty, FormError, Loaded, Skeleton } from '../../../ui/States.tsx';
import { Time } from '../../../ui/Time.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { BREAKER_TONES } from './breaker.ts';

const REFRESH_MS = 5000;

export default function BackendsPage() {
  const { t } = useTranslation();
  const backends = useApi('GET /api/console/admin/backends', undefined, { refetchInterval: REFRESH_MS });
  return (
    <Page
      title={t('backends.title')}
      lead={t('backends.lead')}
      actions={
        <LinkButton kind="primary" href="/admin/backends/new">
          {t('backends.add')}
        </LinkButton>
      }
    >
      <Loaded query={backends} skeleton={<Skeleton className="h-64 w-full rounded-lg" />}>
        {({ items }) =>
          items.length === 0 ? (
            <Card>
              <Empty title={t('backends.empty')}>{t('backends.emptyLead')}</Empty>
            </Card>
          ) : (
            items.map((backend) => <Backend key={backend.name} backend={backend} />)
          )
        }
      </Loaded>
    </Page>
  );
}

function Backend({ backend }: { backend: AdminBackend }) {
  const { t, i18n } = useTranslation();
  const bad = (backend.errorRate ?? 0) > 0.05;
  const state = shownState(backend, t);
  return (
    <Card>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Dot tone={state.tone} label={state.text} />
        <h2 className="font-mono text-lg font-semibold">{backend.name}</h2>
        <Badge>{backend.kind}</Badge>
        <Badge tone={state.tone}>{state.text}</Badge>
        {backend.paused ? <Badge tone="warn">{t('backends.pausedByYou')}</Badge> : null}
        <span className="min-w-0 flex-1 basis-40 truncate text-sm text-ink-3">{backend.baseUrl ?? ''}</span>
        <TestCall name={backend.name} />
        <Pause name={backend.name} paused={backend.paused} />
      </div>
      {backend.paused ? <p className="mt-3 text-sm text-warn">{t('backends.pausedNote')}</p> : null}
      <dl className="mt-4 grid grid-cols-2 gap-x-6 gap-y-3 border-t border-line pt-4 sm:grid-cols-4">
        <Fact label={t('backends.requests')} value={<Count value={backend.requests} />} />
        <Fact
          label={t('backends.errorRate')}
          value={
            backend.errorRate === null ? (
              <span className="text-ink-3">{t('backends.noTraffic')}</span>
            ) : (
              <span className={classes(bad && 'text-bad')}>
                {formatPercent(backend.errorRate, i18n.language)}
              </span>
            )
          }
        />
        <Fact label={t('backends.failures')} value={<Count value={backend.failures} />} />
        <Fact label={t('backends.firstByte')} value={<Duration ms={backend.firstByteMs} />} />
      </dl>
      <p className="mt-3 flex flex-wrap items-center gap-1.5 text-sm text-ink-3">
        {t('backends.endpoints')}:
        {backend.endpoints.map((endpoint) => (
          <Badge key={endpoint} mono>
            {endpoint}
          </Badge>
        ))}
      </p>
      {backend.problem === null ? null : (
        <p
          role="alert"
          className="mt-3 rounded-md border border-bad-line bg-bad-soft px-3 py-2 text-sm break-words text-bad"
        >
          {t('catalog.keyWithheld')} {backend.problem}
        </p>
      )}
      {backend.resting.map(({ model, key, account, until }) => (
        <p key={[model, key, account].join()} className="mt-3 text-sm text-warn">
          <Badge mono>{model}</Badge> {key === null ? null : <Badge>{t('backends.key', { key })}</Badge>}{' '}
          {t('backends.rests')} <Time at={until} style="clock" />
          {account === null ? null : (
            <>
              , {t('backends.restsForAccount')} <Badge mono>{account}</Badge>
            </>
          )}
        </p>
      ))}
      <RefusedFields learned={backend.learned} />
      <LastError failure={backend.lastError} />
    </Card>
  );
}

/** Nobody knows whether a backend works that was never asked; one whose test failed does not. */
function shownState(
  { state, requests, testFailed }: AdminBackend,
  t: TFunction,
): { readonly tone: Tone; readonly text: string } {
  if (testFailed) return { tone: 'bad', text: t('backends.failedTest') };
  if (state === 'closed' && requests === 0) return { tone: 'neutral', text: t('backends.unused') };
  return { tone: BREAKER_TONES[state], text: t(`backends.state.${state}`) };
}

/** Nothing is cut off: requests that run end as they would, and new ones go elsewhere. */
function Pause({ name, paused }: { name: string; paused: boolean }) {
  const { t } = useTranslation();
  const pause = useAction(
    async () =>
      await call('PUT /api/console/admin/backends/{id}/paused', {
        params: { id: name },
        body: { paused: !paused },
      }),
    {
      refresh: ['GET /api/console/admin/backends', 'GET /api/console/admin/catalog'],
      onDone: () => toast(t(paused ? 'backends.resumed' : 'backends.pausedNow', { name })),
    },
  );
  return (
    <div className="flex flex-wrap items-center justify-end gap-2">
      <FormError error={pause.error} />
      <Button small busy={pause.isPending} onClick={() => pause.mutate()}>
        {t(paused ? 'backends.resume' : 'backends.pause')}
      </Button>
    </div>
  );
}

function LastError({ failure }: { failure: AdminBackend['lastError'] }) {
  const { t } = useTranslation();
  if (!failure) return null;
  return (
    <p className="mt-3 rounded-md border border-bad-line bg-bad-soft px-3 py-2 text-sm break-words text-bad">
      {t('backends.lastError')}, <Time at={failure.at} style="relative" />:{' '}
      {failure.message === 'out_of_credit' ? t('backends.outOfCredit') : failure.message}
    </p>
  );
}

function RefusedFields({ learned }: Pick<AdminBackend, 'learned'>) {
  const { t } = useTranslation();
  return learned.map(({ model, field, instead }) => (
    <p key={`${model} ${field}`} className="mt-3 text-sm text-ink-3">
      <Badge mono>{model}</Badge> {t('backends.refuses')} <Badge mono>{field}</Badge>
      {instead === null ? null : (
        <>
          , {t('backends.getsInstead')} <Badge mono>{instead}</Badge>
        </>
      )}
    </p>
  ));
}

function Fact({ label, value }: { label: string; value: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-sm text-ink-3">{label}</dt>
      <dd className="text-lg font-medium">{value}</dd>
    </div>
  );
}

function TestCall({ name }: { name: string }) {
  const { t, i18n } = useTranslation();
  const test = useAction(
    async () => await call('POST /api/console/admin/backends/{id}/test', { params: { id: name }, body: {} }),
    {
      refresh: ['GET /api/console/admin/backends'],
    },
  );
  const result = test.data;
  return (
    <div className="flex flex-wrap items-center justify-end gap-2">
      {result ? (
        <span
          role="status"
          title={result.detail}
          className={classes('max-w-72 truncate text-sm', result.ok ? 'text-accent' : 'text-bad')}
        >
          {t(result.ok ? 'backends.testOk' : 'backends.testFailed', {
            time: formatDuration(result.latencyMs, i18n.language),
          })}
          {result.ok ? '' : `: ${result.detail}`}
        </span>
      ) : null}
      <FormError error={test.error} />
      <Button small busy={test.isPending} onClick={() => test.mutate()}>
        {t('backends.test')}
      </Button>
    </div>
  );
}
