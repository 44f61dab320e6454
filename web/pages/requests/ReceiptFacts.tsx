import type { ReactNode } from 'react';
import { useTranslation } from '../../lib/translation.tsx';
import { Link } from '../../ui/Link.tsx';
import { Count, Duration, Nothing } from '../../ui/Numbers.tsx';
import { Time } from '../../ui/Time.tsx';
import type { ShownReceipt } from './ReceiptTimeline.tsx';

interface ReceiptFactsProps {
  readonly receipt: ShownReceipt;
  readonly more: readonly { readonly label: string; readonly value: ReactNode }[];
}

export function ReceiptFacts({ receipt, more }: ReceiptFactsProps) {
  const { t } = useTranslation();
  const facts = [
    { label: t('receipt.started'), value: <Time at={receipt.at} style="full" /> },
    {
      label: t('receipt.finished'),
      value: receipt.finishedAt ? <Time at={receipt.finishedAt} style="full" /> : <Nothing />,
    },
    { label: t('requests.ttft'), value: <Duration ms={receipt.firstByteMs} /> },
    { label: t('requests.duration'), value: <Duration ms={receipt.durationMs} /> },
    ...(receipt.kind === 'chat'
      ? [
          { label: t('receipt.cap'), value: <Count value={receipt.outputCap} /> },
          { label: t('receipt.finish'), value: receipt.finishReason ?? <Nothing /> },
          { label: t('receipt.streamed'), value: receipt.stream ? t('common.yes') : t('common.no') },
        ]
      : []),
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
