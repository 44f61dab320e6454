import type { TFunction } from 'i18next';
import type { ReactNode } from 'react';
import type { ItemOf } from '../../../../src/console/contract/routes.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { classes } from '../../../lib/classes.ts';
import { formatDuration, formatPercent } from '../../../lib/numbers.ts';
import { useUser } from '../../../lib/session.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Badge, type Tone } from '../../../ui/Badge.tsx';
import { Button, LinkButton } from '../../../ui/Button.tsx';
import { Card } from '../../../ui/Card.tsx';
import { Changeable } from '../../../ui/Form.tsx';
import { Count, Duration, Nothing } from '../../../ui/Numbers.tsx';
import { FormError } from '../../../ui/States.tsx';
import { Time } from '../../../ui/Time.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { knownFailure } from '../overview/attentionText.ts';
import { BREAKER_TONES, MOST } from '../overview/BackendFigures.tsx';
import { ProviderMark } from './ProviderMark.tsx';

type AdminBackend = ItemOf<'GET /api/console/admin/backends'>;

interface BackendCardProps {
  readonly backend: AdminBackend;
  readonly editable: boolean;
}

/** The state of a backend, and what can be done about it. */
export function BackendCard({ backend, editable }: BackendCardProps) {
  const { t } = useTranslation();
  const state = shownState(backend, t);
  return (
    <Card>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <ProviderMark names={[backend.name, backend.kind]} />
        <h2 className="font-mono text-lg font-semibold">{backend.name}</h2>
        {backend.kind === backend.name ? null : <Badge>{backend.kind}</Badge>}
        <Badge tone={state.tone}>{state.text}</Badge>
        <span className="min-w-0 flex-1 basis-40 truncate text-sm text-ink-3 empty:basis-0">
          {backend.baseUrl ?? ''}
        </span>
        <div className="flex flex-wrap gap-2">
          <Changeable right="change_catalog">
            <TestCall name={backend.name} />
            {editable ? <Pause name={backend.name} paused={backend.paused} /> : null}
          </Changeable>
          {editable ? <OpenBackend name={backend.name} /> : null}
        </div>
      </div>
      {backend.paused ? (
        <p role="status" className="mt-3 text-sm text-warn">
          {backend.running > 0 ? t('backends.draining', { count: backend.running }) : t('backends.drained')}
        </p>
      ) : null}
      <Figures backend={backend} />
      <p className="mt-3 flex flex-wrap items-center gap-1.5 text-sm text-ink-3">
        {backend.endpoints.length === 0 ? t('backends.noEndpoints') : `${t('backends.endpoints')}:`}
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
      <Resting resting={backend.resting} />
      <RefusedFields learned={backend.learned} />
      <LastError failure={backend.lastError} isFailing={state.tone === 'bad'} />
    </Card>
  );
}

function Figures({ backend: { recent, running } }: { backend: AdminBackend }) {
  const { t, i18n } = useTranslation();
  const { errorRate, lastHour, isMore, firstByteMs, durationMs } = recent;
  return (
    <dl className="mt-4 grid gap-x-6 gap-y-2 border-t border-line pt-4 sm:grid-cols-3 sm:gap-y-3 lg:grid-cols-5">
      <Fact
        label={t('backends.lastHour')}
        value={
          <>
            <Count value={lastHour} />
            {isMore ? '+' : ''}
          </>
        }
      />
      <Fact
        label={t('backends.errorRate')}
        value={
          errorRate === null ? (
            <span className="text-ink-3">{t('backends.noTraffic')}</span>
          ) : (
            <span className={classes(errorRate > MUCH && 'text-bad')}>
              {formatPercent(errorRate, i18n.language)}
            </span>
          )
        }
      />
      <Fact label={t('backends.firstToken')} value={<Percentiles of={firstByteMs} />} />
      <Fact label={t('backends.whole')} value={<Percentiles of={durationMs} />} />
      <Fact label={t('backends.running')} value={<Count value={running} />} />
    </dl>
  );
}

/** A share of failed calls that deserves a look. */
const MUCH = 0.05;

function Percentiles({ of }: { of: AdminBackend['recent']['durationMs'] }) {
  if (!of) return <Nothing />;
  return (
    <span className="whitespace-nowrap">
      <Duration ms={of.p50} /> <span className="text-ink-3">/</span> <Duration ms={of.p95} />
    </span>
  );
}

/** A backend that was never called is not known to work, and one whose test failed does not. */
function shownState(
  { state, requests, recent, testFailed, paused, running, isRemoved }: AdminBackend,
  t: TFunction,
): { readonly tone: Tone; readonly text: string } {
  if (isRemoved) return { tone: 'bad', text: t('backends.removedInDraft') };
  if (paused)
    return { tone: 'warn', text: t(running > 0 ? 'backends.drainingState' : 'backends.pausedByYou') };
  if (testFailed) return { tone: 'bad', text: t('backends.failedTest') };
  if (state !== 'closed') return { tone: BREAKER_TONES[state], text: t(`backends.state.${state}`) };
  if (requests === 0 && recent.errorRate === null) return { tone: 'neutral', text: t('backends.unused') };
  if (recent.errorRate !== null && recent.errorRate >= MOST)
    return { tone: 'bad', text: t('backends.failing') };
  return { tone: BREAKER_TONES.closed, text: t('backends.state.closed') };
}

function Resting({ resting }: Pick<AdminBackend, 'resting'>) {
  const { t } = useTranslation();
  return resting.map(({ model, key, account, until }) => (
    <p key={[model, key, account].join()} className="mt-3 text-sm text-warn">
      <Badge mono>{model}</Badge> {key === null ? null : <Badge>{t('backends.key', { key })}</Badge>}{' '}
      {t('backends.rests')} <Time at={until} style="clock" />
      {account === null ? null : (
        <>
          , {t('backends.restsForAccount')} <Badge mono>{account}</Badge>
        </>
      )}
    </p>
  ));
}

/** Leads to the backend's settings, which only some roles may change. */
export function OpenBackend({ name }: { name: string }) {
  const { t } = useTranslation();
  const mayEdit = useUser().rights.includes('change_catalog');
  return (
    <LinkButton small href={`/admin/backends/${encodeURIComponent(name)}`}>
      {t(mayEdit ? 'backendEdit.edit' : 'common.open')}
      <span className="sr-only"> {name}</span>
    </LinkButton>
  );
}

/** Running requests finish as usual; new ones go to other backends. */
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

interface LastErrorProps {
  readonly failure: AdminBackend['lastError'];
  readonly isFailing: boolean;
}

/** Of a backend that works it is a note, and no alarm. */
function LastError({ failure, isFailing }: LastErrorProps) {
  const { t } = useTranslation();
  if (!failure) return null;
  return (
    <p
      className={classes(
        'mt-3 text-sm text-pretty break-words',
        isFailing ? 'rounded-md border border-bad-line bg-bad-soft px-3 py-2 text-bad' : 'text-ink-3',
      )}
    >
      {t('backends.lastError')}, <Time at={failure.at} style="relative" />:{' '}
      {failure.message === 'broke_off'
        ? t('backends.brokeOff')
        : (knownFailure(failure.message, t) ?? failure.message)}
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
    <div className="min-w-0 max-sm:flex max-sm:items-baseline max-sm:justify-between max-sm:gap-3">
      <dt className="text-sm text-ink-3">{label}</dt>
      <dd className="font-medium sm:text-lg">{value}</dd>
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
