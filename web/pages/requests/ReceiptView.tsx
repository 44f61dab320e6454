import type { ReactNode } from 'react';
import type { ReceiptDetail } from '../../lib/answers.ts';
import { formatExactUsd } from '../../lib/money.ts';
import { formatCount } from '../../lib/numbers.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { CopyText } from '../../ui/Copy.tsx';
import { LedgerLine } from '../../ui/LedgerLine.tsx';
import { Link } from '../../ui/Link.tsx';
import { Money } from '../../ui/Money.tsx';
import { Count, Duration, Nothing } from '../../ui/Numbers.tsx';
import { Time } from '../../ui/Time.tsx';
import { ReceiptTimeline, type ShownReceipt } from './ReceiptTimeline.tsx';
import { RequestStatus } from './RequestStatus.tsx';

type ReceiptDetailLine = ReceiptDetail['lines'][number];

interface ReceiptViewProps {
  readonly receipt: ShownReceipt;
  /** Further facts, for administrators. */
  readonly more?: readonly { readonly label: string; readonly value: ReactNode }[];
  readonly actions?: ReactNode;
}

const NOTHING_MORE: NonNullable<ReceiptViewProps['more']> = [];

/** The timeline of the request, then tokens × price line by line, like a bill on paper. */
export function ReceiptView({ receipt, more = NOTHING_MORE, actions }: ReceiptViewProps) {
  return (
    <div className="flex flex-col gap-6">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1">
          <p className="truncate text-lg font-semibold">{receipt.modelName ?? receipt.model}</p>
          <p className="text-sm break-words text-ink-3">
            {receipt.endpointName ? `${receipt.endpointName} · ` : null}
            <span className="font-mono">
              {receipt.endpoint}/{receipt.model}
            </span>
          </p>
        </div>
        <RequestStatus request={receipt} />
      </div>
      <ReceiptTimeline receipt={receipt} />
      <Bill receipt={receipt} />
      <ReceiptFacts receipt={receipt} more={more} />
      {actions}
    </div>
  );
}

function Bill({ receipt }: Pick<ReceiptViewProps, 'receipt'>) {
  const { t } = useTranslation();
  return (
    <div>
      <div className="rounded-t-md border border-b-0 border-line bg-surface px-5 pt-4 pb-5">
        <div className="flex items-baseline justify-between gap-4 border-b border-dashed border-field pb-3 text-sm">
          <CopyText text={receipt.id} />
          <Time at={receipt.at} />
        </div>
        {receipt.lines.length === 0 ? <p className="mt-3 text-ink-3">{t('receipt.freeLine')}</p> : null}
        <dl className="mt-3 flex flex-col gap-2.5">
          {receipt.lines.map((line) => (
            <Line
              key={line.item}
              line={line}
              reasoning={line.item === 'output' ? receipt.reasoningTokens : 0}
            />
          ))}
          <LedgerLine
            label={t('receipt.sum')}
            value={<Money usd={receipt.totalUsd} plain exact />}
            className="mt-1 border-t border-dashed border-field pt-3"
          />
          <LedgerLine
            label={t('receipt.held')}
            value={<Money usd={receipt.heldUsd} plain exact />}
            className="text-ink-3"
          />
          <LedgerLine
            label={t('receipt.charged')}
            value={<Money usd={receipt.chargedUsd} plain exact />}
            className="border-t-2 border-ink pt-2.5 text-lg font-semibold"
          />
        </dl>
        <Note receipt={receipt} />
      </div>
      <div aria-hidden className="receipt-edge" />
    </div>
  );
}

function Line({ line, reasoning }: { line: ReceiptDetailLine; reasoning: number }) {
  const { t, i18n } = useTranslation();
  const price = formatExactUsd(line.unitUsd, i18n.language);
  const unit = line.per === 1 ? t('receipt.each', { price }) : t('receipt.at', { price });
  const at = line.factor === null ? unit : `${unit} ${t('receipt.factor', { factor: line.factor })}`;
  return (
    <LedgerLine
      label={`${formatCount(line.quantity, i18n.language)} ${t(`receipt.${line.item}`, { count: line.quantity })}`}
      value={<Money usd={line.amountUsd} plain exact />}
      note={reasoning > 0 ? `${at}, ${t('receipt.reasoningOf', { count: reasoning })}` : at}
    />
  );
}

function Note({ receipt }: Pick<ReceiptViewProps, 'receipt'>) {
  const { t } = useTranslation();
  // An image with a price of its own has no tokens that anybody counted.
  const hasTokens = receipt.inputTokens + receipt.outputTokens > 0;
  return (
    <p className="mt-3 text-sm text-ink-3">
      {receipt.state === 'pending' ? t('receipt.running') : null}
      {receipt.state === 'void' ? t('receipt.voided') : null}
      {receipt.state === 'expired' ? t('receipt.expired') : null}
      {receipt.state === 'posted' && receipt.usageSource && hasTokens
        ? t(`receipt.${receipt.usageSource}`)
        : null}
    </p>
  );
}

interface ReceiptFactsProps {
  readonly receipt: ShownReceipt;
  readonly more: readonly { readonly label: string; readonly value: ReactNode }[];
}

function ReceiptFacts({ receipt, more }: ReceiptFactsProps) {
  const { t } = useTranslation();
  const facts = [
    { label: t('receipt.started'), value: <Time at={receipt.at} style="full" /> },
    {
      label: t('receipt.finished'),
      value: receipt.finishedAt ? <Time at={receipt.finishedAt} style="full" /> : <Nothing />,
    },
    ...(receipt.kind === 'chat'
      ? [{ label: t('requests.ttft'), value: <Duration ms={receipt.firstByteMs} /> }]
      : []),
    { label: t('requests.duration'), value: <Duration ms={receipt.durationMs} /> },
    ...(receipt.kind === 'chat'
      ? [
          { label: t('receipt.cap'), value: <Count value={receipt.outputCap} /> },
          { label: t('receipt.finish'), value: receipt.finishReason ?? <Nothing /> },
          { label: t('receipt.streamed'), value: receipt.stream ? t('common.yes') : t('common.no') },
        ]
      : []),
    ...(receipt.priceGroup === null ? [] : [{ label: t('receipt.priceGroup'), value: receipt.priceGroup }]),
    ...Object.entries(receipt.tags ?? {}).map(([name, value]) => ({
      label: t('receipt.tag', { name }),
      value: <span className="break-words">{value}</span>,
    })),
    ...(receipt.errorCode
      ? [{ label: t('receipt.error'), value: <ErrorCodeLink code={receipt.errorCode} /> }]
      : []),
    ...(receipt.client === undefined
      ? []
      : [
          {
            label: t('requests.client'),
            value: <span className="break-words">{receipt.client || '–'}</span>,
          },
        ]),
    ...more,
  ];
  return (
    <section>
      <h3 className="mb-2 text-sm font-semibold">{t('receipt.facts')}</h3>
      <dl className="grid grid-cols-2 gap-x-6 gap-y-2.5 text-sm">
        {facts.map(({ label, value }) => (
          <div key={label} className="min-w-0">
            <dt className="text-ink-3">{label}</dt>
            <dd className="min-w-0">{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function ErrorCodeLink({ code }: { code: string }) {
  const { t } = useTranslation();
  return (
    <Link
      href={`/docs/errors/${code}`}
      title={t('receipt.errorHelp')}
      className="font-mono text-bad underline underline-offset-2"
    >
      {code}
    </Link>
  );
}
