import { useMemo, type ReactNode } from 'react';
import type { Answer } from '../../../src/console/contract/routes.ts';
import type { ReceiptAttempt, ReceiptDetail } from '../../lib/answers.ts';
import type { Strings } from '../../locales/en/index.ts';
import { classes } from '../../lib/classes.ts';
import { approximate, formatExactUsd } from '../../lib/money.ts';
import { formatDuration, formatPercent } from '../../lib/numbers.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Dot, type Tone } from '../../ui/Badge.tsx';
import { Money } from '../../ui/Money.tsx';
import { timelineOf, type Timeline, type TimelineStep } from './timeline.ts';

type AdminReceipt = Answer<'GET /api/console/admin/requests/{id}'>;
type AdminAttempt = AdminReceipt['attempts'][number];

/** Administrators also see what an attempt cost. */
type ShownAttempt = ReceiptAttempt & { readonly cost?: AdminAttempt['cost'] };

/** A shared receipt does not name the client. */
export type ShownReceipt = Omit<ReceiptDetail, 'client' | 'attempts'> & {
  readonly client?: string;
  readonly attempts: readonly ShownAttempt[];
};

/** From admission to settlement: what happened when, and what was held, charged and released along the way. */
export function ReceiptTimeline({ receipt }: { receipt: ShownReceipt }) {
  const { t } = useTranslation();
  const timeline = useMemo(() => timelineOf(receipt), [receipt]);
  return (
    <section>
      <h3 className="mb-2 text-sm font-semibold">{t('timeline.title')}</h3>
      <TimeBar timeline={timeline} />
      <ol className="mt-3 flex flex-col">
        {timeline.steps.map((step, index) => (
          // The same backend may be tried twice, so a step is identified by its index.
          // oxlint-disable-next-line react/no-array-index-key
          <StepLine
            key={index}
            step={step}
            tone={toneOf(step, receipt)}
            isLast={index === timeline.steps.length - 1}
          >
            <StepText step={step} receipt={receipt} totalMs={timeline.totalMs} />
          </StepLine>
        ))}
      </ol>
    </section>
  );
}

const SEGMENT_LOOKS = {
  failed: 'bg-bad',
  waiting: 'bg-field',
  answer: 'bg-accent',
  other: 'bg-hover',
} as const;
const SEGMENT_KINDS = ['failed', 'waiting', 'answer', 'other'] as const;

/** The segments are in proportion to time; the label says the same in words. */
function TimeBar({ timeline: { segments, totalMs } }: { timeline: Timeline }) {
  const { t, i18n } = useTranslation();
  if (totalMs === 0) return null;
  const lengths = SEGMENT_KINDS.map((kind) => ({
    kind,
    ms: segments
      .filter((segment) => segment.kind === kind)
      .reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0),
  })).filter(({ ms }) => ms > 0);
  const texts = lengths.map(({ kind, ms }) => ({
    kind,
    text: t(`timeline.${kind}`, { time: formatDuration(ms, i18n.language) }),
  }));
  return (
    <>
      <div
        role="img"
        aria-label={t('timeline.bar', { parts: texts.map(({ text }) => text).join(', ') })}
        className="flex h-3 gap-px overflow-hidden rounded-sm bg-surface"
      >
        {segments.map(({ kind, fromMs, toMs }) => (
          <span
            key={fromMs}
            className={classes('min-w-0.5 basis-0', SEGMENT_LOOKS[kind])}
            style={{ flexGrow: toMs - fromMs }}
          />
        ))}
      </div>
      <ul aria-hidden className="mt-1.5 flex flex-wrap gap-x-4 gap-y-1 text-xs text-ink-3">
        {texts.map(({ kind, text }) => (
          <li key={kind} className="flex items-center gap-1.5">
            <span className={classes('size-2.5 rounded-xs border border-line', SEGMENT_LOOKS[kind])} />
            {text}
          </li>
        ))}
      </ul>
    </>
  );
}

interface StepLineProps {
  readonly step: TimelineStep<ShownAttempt>;
  readonly tone: Tone;
  readonly isLast: boolean;
  readonly children: ReactNode;
}

function StepLine({ step, tone, isLast, children }: StepLineProps) {
  const { t, i18n } = useTranslation();
  const isAtLeast = step.kind === 'attempt' && step.isAtLeast;
  return (
    <li className="flex gap-3 text-sm">
      <span className="w-16 shrink-0 pt-0.5 text-right whitespace-nowrap text-ink-3 tabular-nums">
        {step.atMs === undefined ? null : (
          <span title={isAtLeast ? t('timeline.atLeast') : undefined}>
            {isAtLeast ? '≥ ' : step.atMs > 0 ? '+' : null}
            {formatDuration(step.atMs, i18n.language)}
          </span>
        )}
      </span>
      <span aria-hidden className="flex flex-col items-center">
        <span className="mt-1">
          <Dot tone={tone} label="" />
        </span>
        {isLast ? null : <span className="w-px flex-1 bg-line" />}
      </span>
      <div className="min-w-0 flex-1 pb-3">{children}</div>
    </li>
  );
}

const ATTEMPT_TONES: Record<ReceiptAttempt['result'], Tone> = {
  served: 'good',
  failed: 'bad',
  skipped: 'neutral',
};

function toneOf(step: TimelineStep<ShownAttempt>, { outcome }: ShownReceipt): Tone {
  switch (step.kind) {
    case 'attempt':
      return ATTEMPT_TONES[step.attempt.result];
    case 'running':
    case 'retry':
      return 'neutral';
    case 'ended':
      return outcome === 'completed' ? 'good' : outcome === 'client_left' ? 'neutral' : 'bad';
    case 'admitted':
    case 'first':
    case 'settled':
      return 'good';
    default:
      return step satisfies never;
  }
}

interface StepTextProps {
  readonly step: TimelineStep<ShownAttempt>;
  readonly receipt: ShownReceipt;
  readonly totalMs: number;
}

function StepText({ step, receipt, totalMs }: StepTextProps) {
  const { t, i18n } = useTranslation();
  const usd = (amount: string): string => formatExactUsd(amount, i18n.language);
  switch (step.kind) {
    case 'admitted':
      return (
        <TitleLine
          title={t('timeline.admitted')}
          money={
            approximate(receipt.heldUsd) === 0
              ? t('timeline.nothingHeld')
              : t('timeline.held', { amount: usd(receipt.heldUsd) })
          }
        />
      );
    case 'attempt':
      return <AttemptText attempt={step.attempt} number={step.number} />;
    case 'retry':
      return (
        <>
          <p className="font-medium">{t('timeline.retry')}</p>
          <p className="font-mono text-xs break-all text-ink-3">{step.of}</p>
        </>
      );
    case 'first':
      return (
        <p className="font-medium">
          {t(receipt.kind === 'images' ? 'timeline.firstImage' : 'timeline.first')}
        </p>
      );
    case 'ended':
      return <p className="font-medium">{t(`timeline.ended.${receipt.outcome ?? 'completed'}`)}</p>;
    case 'settled':
      return <SettledText receipt={receipt} isLate={step.atMs > totalMs} />;
    case 'running':
      return (
        <>
          <p className="font-medium">{t('timeline.running')}</p>
          <p className="text-ink-3">{t('timeline.runningLead')}</p>
        </>
      );
    default:
      return step satisfies never;
  }
}

function TitleLine({ title, money }: { title: string; money: string }) {
  return (
    <p className="flex flex-wrap items-baseline justify-between gap-x-4">
      <span className="font-medium">{title}</span>
      <span className="text-ink-2 tabular-nums">{money}</span>
    </p>
  );
}

function AttemptText({ attempt, number }: { attempt: ShownAttempt; number: number | undefined }) {
  const { t, i18n } = useTranslation();
  const { upstream: backend, result, reason } = attempt;
  const time = formatDuration(attempt.durationMs, i18n.language);
  return (
    <>
      <p className="font-medium break-words">
        {number === undefined
          ? t('timeline.skipped', { backend })
          : t('timeline.attempt', { number, backend })}
      </p>
      <p className={classes('break-words', result === 'failed' ? 'text-bad' : 'text-ink-3')}>
        {result === 'served' ? t('timeline.served', { time }) : null}
        {result === 'failed' ? `${t('timeline.failedAfter', { time })}. ` : null}
        {reason === null ? null : isKnown(reason) ? t(`timeline.reasons.${reason}`) : reason}
      </p>
      <AttemptCost cost={attempt.cost} />
    </>
  );
}

type Reason = keyof Strings['timeline']['reasons'];
const REASONS: Record<Reason, true> = {
  connect: true,
  overloaded: true,
  connection_lost: true,
  timeout: true,
  rate_limited: true,
  unauthorized: true,
  out_of_credit: true,
  forbidden: true,
  not_found: true,
  rejected: true,
  server: true,
  protocol: true,
  unreported: true,
  resting: true,
  daily_cost_limit: true,
  retry_budget: true,
  no_report: true,
};

/** A reason that only a newer server knows is shown as it is. */
function isKnown(reason: string): reason is Reason {
  return Object.hasOwn(REASONS, reason);
}

/** Undefined for customers; `null` if it is not known. */
function AttemptCost({ cost }: { cost: ShownAttempt['cost'] }) {
  const { t } = useTranslation();
  if (cost === undefined) return null;
  return (
    <p className="text-ink-3">
      {t('receipt.cost')}:{' '}
      {cost === null ? (
        t('receipt.costUnknown')
      ) : (
        <>
          <Money usd={cost.usd} plain exact className="text-ink-2" /> {t(`receipt.costBasis.${cost.basis}`)}
        </>
      )}
    </p>
  );
}

function SettledText({ receipt, isLate }: { receipt: ShownReceipt; isLate: boolean }) {
  const { t, i18n } = useTranslation();
  const usd = (amount: string): string => formatExactUsd(amount, i18n.language);
  const held = approximate(receipt.heldUsd);
  const charged = approximate(receipt.chargedUsd);
  const share = held === 0 ? 0 : charged / held;
  const percent = (part: number): string => formatPercent(part, i18n.language);
  return (
    <>
      <TitleLine
        title={t(isLate ? 'timeline.settledLate' : 'timeline.settled')}
        money={
          charged === 0
            ? t('timeline.notCharged')
            : t('timeline.charged', { amount: usd(receipt.chargedUsd) })
        }
      />
      {held === 0 ? null : (
        <>
          <p className="text-right text-ink-3 tabular-nums">
            {t('timeline.released', { amount: usd(receipt.releasedUsd ?? '0') })}
          </p>
          <div
            role="img"
            aria-label={t('timeline.share', { charged: percent(share), released: percent(1 - share) })}
            className="mt-1.5 h-1.5 overflow-hidden rounded-full bg-hover"
          >
            <div className="h-full rounded-full bg-accent" style={{ width: `${share * 100}%` }} />
          </div>
        </>
      )}
    </>
  );
}
