import { type ReactNode, useEffect, useRef, useState } from 'react';
import questions from '../../../docs/guide/questions.json';
import type { ModelItem, PlaygroundReceipt } from '../../lib/answers.ts';
import { useApi, ApiError } from '../../lib/api.ts';
import { streamChat } from '../../lib/chatStream.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { LedgerLine } from '../../ui/LedgerLine.tsx';
import { Markdown } from '../../ui/Markdown.tsx';
import { Money } from '../../ui/Money.tsx';
import { Count, Duration, Nothing } from '../../ui/Numbers.tsx';
import { FormError } from '../../ui/States.tsx';

const [QUESTION = ''] = questions;

interface CallStepProps {
  readonly call: FirstCallRun;
  /** Null if no model can be used. */
  readonly model: ModelItem | null | undefined;
}

export function CallStep({ call, model }: CallStepProps) {
  const { t } = useTranslation();
  if (model === null) return <p className="text-ink-2">{t('setup.noModel')}</p>;
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {model ? <p className="text-ink-2">{t('setup.callLead', { model: model.displayName })}</p> : null}
      <blockquote lang="en" className="border-l-2 border-accent pl-4 text-lg">
        {QUESTION}
      </blockquote>
      {call.answer || call.busy ? (
        <article
          lang="en"
          aria-live="polite"
          aria-busy={call.busy}
          className="min-h-24 min-w-0 rounded-lg border border-line bg-surface p-4 sm:p-5"
        >
          {call.answer ? (
            <Markdown text={call.answer} />
          ) : (
            <p className="animate-breathe text-ink-3">{t('setup.waiting')}</p>
          )}
        </article>
      ) : null}
      <FormError error={call.error} />
      <Button
        kind={call.receipt ? 'plain' : 'primary'}
        busy={call.busy}
        disabled={!model}
        className="self-start"
        onClick={() => {
          if (model) void call.run(model, QUESTION);
        }}
      >
        {call.receipt ? t('setup.again') : t('setup.ask')}
      </Button>
    </div>
  );
}

/** What the call used, what was held and charged for it, and what is left; empty until there is a call. */
export function CallReceipt({ call: { receipt, busy, firstTokenMs } }: { call: FirstCallRun }) {
  const { t } = useTranslation();
  const amount = (usd: string | null | undefined): ReactNode =>
    usd === null || usd === undefined ? <Waiting busy={busy} /> : <Money usd={usd} plain exact />;
  const firstMs = receipt?.firstByteMs ?? firstTokenMs;
  return (
    <section
      aria-label={t('setup.receipt')}
      aria-busy={busy}
      className="min-w-0 rounded-lg border border-line bg-surface p-4 sm:p-5 lg:sticky lg:top-6"
    >
      <div className="border-b border-dashed border-field pb-3">
        <h3 className="font-semibold">{t('setup.receipt')}</h3>
        <p className="min-h-4 min-w-0 font-mono text-xs break-all text-ink-3">
          {receipt ? receipt.requestId : busy ? t('firstRun.running') : t('firstRun.receiptEmpty')}
        </p>
      </div>
      <dl className="mt-3 flex flex-col gap-2 text-sm">
        <LedgerLine
          label={t('firstRun.firstToken')}
          value={firstMs === undefined ? <Waiting busy={busy} /> : <Duration ms={firstMs} />}
        />
        <LedgerLine
          label={t('firstRun.duration')}
          value={receipt ? <Duration ms={receipt.durationMs} /> : <Waiting busy={busy} />}
        />
        <Tokens receipt={receipt} busy={busy} />
        <LedgerLine label={t('setup.heldBefore')} value={amount(receipt?.heldUsd)} />
        <LedgerLine label={t('setup.charged')} value={amount(receipt?.costUsd)} className="font-semibold" />
        <LedgerLine
          label={t('setup.availableNow')}
          value={amount(receipt?.availableUsd)}
          className="border-t border-dashed border-field pt-3"
        />
      </dl>
    </section>
  );
}

function Tokens({ receipt, busy }: { receipt: PlaygroundReceipt | undefined; busy: boolean }) {
  const { t } = useTranslation();
  return (
    <>
      <LedgerLine
        label={t('setup.inputTokens')}
        value={receipt ? <Count value={receipt.inputTokens} /> : <Waiting busy={busy} />}
      />
      <LedgerLine
        label={t('setup.outputTokens')}
        value={receipt ? <Count value={receipt.outputTokens} /> : <Waiting busy={busy} />}
      />
    </>
  );
}

function Waiting({ busy }: { busy: boolean }) {
  return (
    <span className={busy ? 'animate-breathe' : undefined}>
      <Nothing />
    </span>
  );
}

type FirstCallRun = ReturnType<typeof useFirstCall>;

interface FirstCall {
  readonly answer: string;
  readonly receipt: PlaygroundReceipt | undefined;
  readonly error: ApiError | undefined;
  readonly busy: boolean;
  /** The time as measured here; the receipt is more exact. */
  readonly firstTokenMs: number | undefined;
}

const NO_CALL: FirstCall = {
  answer: '',
  receipt: undefined,
  error: undefined,
  busy: false,
  firstTokenMs: undefined,
};

const MAX_TOKENS = 1_000;

/** One streamed call; starting again replaces it, and leaving the page aborts it. */
export function useFirstCall() {
  const [call, setCall] = useState(NO_CALL);
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);
  const run = async (model: { endpoint: string; model: string }, question: string): Promise<void> => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    const change = (changes: Partial<FirstCall>): void => setCall((before) => ({ ...before, ...changes }));
    const startedAt = performance.now();
    setCall({ ...NO_CALL, busy: true });
    try {
      const body = {
        endpoint: model.endpoint,
        model: model.model,
        messages: [{ role: 'user' as const, content: question }],
        max_tokens: MAX_TOKENS,
      };
      for await (const part of streamChat({ body, signal, wallet: 'own' })) {
        if (part.kind === 'text')
          setCall((before) => ({
            ...before,
            answer: before.answer + part.text,
            firstTokenMs: before.firstTokenMs ?? performance.now() - startedAt,
          }));
        else if (part.kind === 'receipt') change({ receipt: part.receipt });
        else if (part.kind === 'failed') change({ error: new ApiError(500, 'upstream_error', part.message) });
      }
    } catch (failure) {
      if (!signal.aborted)
        change({
          error: failure instanceof ApiError ? failure : new ApiError(0, 'network', String(failure)),
        });
    } finally {
      change({ busy: false });
    }
  };
  return { ...call, run };
}

/** The question is about Tollgate, so the model that reads the guides is asked if there is one. */
export function useFirstModel(): ModelItem | null | undefined {
  const models = useApi('GET /api/console/models', { query: { wallet: 'own' } }).data?.models;
  if (!models) return undefined;
  const usable = models.filter((model) => model.type === 'chat_completion' && model.unavailable === null);
  return usable.find(({ model }) => model === GUIDE) ?? usable[0] ?? null;
}

/** The built-in model that answers from the guides. */
export const GUIDE = 'house-guide';
