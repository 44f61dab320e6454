import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { PlaygroundReceipt } from '../../../src/console/contract.ts';
import { useAction } from '../../lib/action.ts';
import { ApiError, call, useApi } from '../../lib/api.ts';
import { streamChat } from '../../lib/chatStream.ts';
import { randomKey } from '../../lib/random.ts';
import { useSession } from '../../lib/session.ts';
import { Button } from '../../ui/Button.tsx';
import { Money } from '../../ui/Money.tsx';
import { Duration } from '../../ui/Numbers.tsx';
import { FormError } from '../../ui/States.tsx';

/** One real call, streamed, with its receipt under it. */
export function CallStep({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation();
  const chat = useApi('GET /api/console/quickstart').data?.chat;
  const call = useFirstCall();
  return (
    <div className="flex flex-col gap-4">
      <p className="text-ink-2">{t('setup.callLead')}</p>
      <blockquote className="border-l-2 border-accent pl-4 text-lg">{t('setup.question')}</blockquote>
      {call.answer || call.busy ? (
        <div
          aria-live="polite"
          className="min-h-24 rounded-lg border border-line bg-surface p-4 whitespace-pre-wrap"
        >
          {call.answer}
          {call.busy ? <span className="animate-breathe text-accent">▍</span> : null}
        </div>
      ) : null}
      {call.receipt ? <Facts receipt={call.receipt} /> : null}
      {call.error?.status === 402 ? (
        <Credit onDone={() => chat && void call.run(chat, t('setup.question'))} />
      ) : (
        <FormError error={call.error} />
      )}
      <div className="flex gap-2">
        <Button
          kind={call.receipt ? 'plain' : 'primary'}
          busy={call.busy}
          disabled={!chat}
          onClick={() => chat && void call.run(chat, t('setup.question'))}
        >
          {call.receipt ? t('setup.again') : t('setup.ask')}
        </Button>
        <Button kind={call.receipt ? 'primary' : 'ghost'} onClick={onDone}>
          {t('common.next')}
        </Button>
      </div>
    </div>
  );
}

function useFirstCall() {
  const [answer, setAnswer] = useState('');
  const [receipt, setReceipt] = useState<PlaygroundReceipt>();
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);
  const run = async (chat: { endpoint: string; model: string }, question: string): Promise<void> => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    setAnswer('');
    setReceipt(undefined);
    setError(undefined);
    setBusy(true);
    try {
      const body = { ...chat, messages: [{ role: 'user' as const, content: question }], max_tokens: 400 };
      for await (const part of streamChat({ body, signal })) {
        if (part.kind === 'text') setAnswer((before) => before + part.text);
        else if (part.kind === 'receipt') setReceipt(part.receipt);
        else if (part.kind === 'failed') setError(new ApiError(500, 'upstream_error', part.message));
      }
    } catch (failure) {
      if (!signal.aborted)
        setError(failure instanceof ApiError ? failure : new ApiError(0, 'network', String(failure)));
    } finally {
      setBusy(false);
    }
  };
  return { answer, receipt, error, busy, run };
}

function Facts({ receipt }: { receipt: PlaygroundReceipt }) {
  const { t } = useTranslation();
  return (
    <dl className="grid grid-cols-2 gap-3 rounded-lg border border-line bg-surface p-4 text-sm sm:grid-cols-4">
      <div>
        <dt className="text-ink-3">{t('setup.cost')}</dt>
        <dd>
          <Money usd={receipt.costUsd} plain />
        </dd>
      </div>
      <div>
        <dt className="text-ink-3">{t('setup.tokens')}</dt>
        <dd className="tabular-nums">
          {receipt.inputTokens} + {receipt.outputTokens}
        </dd>
      </div>
      <div>
        <dt className="text-ink-3">{t('setup.firstByte')}</dt>
        <dd>
          <Duration ms={receipt.firstByteMs} />
        </dd>
      </div>
      <div className="min-w-0">
        <dt className="text-ink-3">{t('setup.requestId')}</dt>
        <dd className="truncate font-mono text-xs leading-5">{receipt.requestId}</dd>
      </div>
    </dl>
  );
}

function Credit({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation();
  const accountId = useSession().data?.user?.accountId ?? '';
  const credit = useAction(
    async () =>
      await call('POST /api/console/admin/accounts/{id}/credit', {
        params: { id: accountId },
        body: { amountUsd: '5.00', cause: t('setup.creditCause'), once: randomKey() },
      }),
    { onDone },
  );
  return (
    <div className="flex flex-wrap items-center gap-3 rounded-md border border-warn-line bg-warn-soft px-4 py-3 text-warn">
      <p className="flex-1 basis-60">{t('setup.outOfMoney')}</p>
      <Button small busy={credit.isPending} onClick={() => credit.mutate()}>
        {t('setup.credit')}
      </Button>
      <FormError error={credit.error} />
    </div>
  );
}
