import Pencil from 'lucide-react/icons/pencil';
import RefreshCw from 'lucide-react/icons/refresh-cw';
import { Suspense, useState } from 'react';
import type { PlaygroundReceipt } from '../../lib/answers.ts';
import { later } from '../../lib/chunk.ts';
import { formatCount, formatDuration } from '../../lib/numbers.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button, IconButton } from '../../ui/Button.tsx';
import { CopyIconButton } from '../../ui/Copy.tsx';
import { Textarea } from '../../ui/Field.tsx';
import { Link } from '../../ui/Link.tsx';
import { Markdown } from '../../ui/Markdown.tsx';
import { Money } from '../../ui/Money.tsx';
import { FileChip } from './Attachments.tsx';
import type { Turn } from './conversation.ts';
import { isAccountsLimit } from './refusal.ts';
import { RefusalNotice } from './RefusalNotice.tsx';

const JsonAnswer = later(() => import('./structured/JsonAnswer.tsx'));
const ToolCalls = later(() => import('./structured/ToolCalls.tsx'));

interface TurnViewProps {
  readonly turn: Turn;
  readonly onRegenerate?: (() => void) | undefined;
  readonly onEdit?: ((text: string) => void) | undefined;
  readonly alternatives?: readonly Alternative[] | undefined;
  readonly onResults?: ((results: readonly string[]) => void) | undefined;
}

interface Alternative {
  readonly name: string;
  readonly onTry: () => void;
}

export function TurnView({ turn, onEdit, ...rest }: TurnViewProps) {
  return turn.role === 'user' ? <Question turn={turn} onEdit={onEdit} /> : <Answer turn={turn} {...rest} />;
}

function Question({ turn, onEdit }: { turn: Turn; onEdit: TurnViewProps['onEdit'] }) {
  const { t } = useTranslation();
  const [draft, setDraft] = useState<string>();
  if (draft !== undefined) {
    return (
      <div className="flex flex-col gap-2">
        <Textarea
          aria-label={t('playground.message')}
          rows={4}
          autoFocus
          value={draft}
          onChange={(event) => setDraft(event.target.value)}
        />
        <div className="flex justify-end gap-2">
          <Button small onClick={() => setDraft(undefined)}>
            {t('common.cancel')}
          </Button>
          <Button
            small
            kind="primary"
            disabled={draft.trim() === '' && !turn.files?.length && turn.images.length === 0}
            onClick={() => {
              setDraft(undefined);
              onEdit?.(draft);
            }}
          >
            {t('playground.editGo')}
          </Button>
        </div>
      </div>
    );
  }
  return (
    <div className="group flex flex-col items-end gap-1">
      <div className="max-w-[85%] rounded-lg bg-accent-soft px-4 py-2.5 break-words whitespace-pre-wrap">
        <span className="sr-only">{t('playground.you')}: </span>
        {turn.images.map((image, index) => (
          <img
            key={image.slice(-48)}
            src={image}
            alt={t('playground.picture', { number: index + 1 })}
            className="mb-2 max-h-48 rounded-md"
          />
        ))}
        {turn.files?.length ? (
          <span className="mb-2 flex flex-wrap gap-2">
            {turn.files.map(({ name }, index) => (
              <FileChip key={`${index} ${name}`} name={name} />
            ))}
          </span>
        ) : null}
        {turn.text}
      </div>
      {onEdit ? (
        <IconButton
          label={t('playground.edit')}
          className="opacity-60 group-hover:opacity-100 focus-visible:opacity-100"
          onClick={() => setDraft(turn.text)}
        >
          <Pencil size={14} aria-hidden />
        </IconButton>
      ) : null}
    </div>
  );
}

function Answer({ turn, onRegenerate, alternatives, onResults }: Omit<TurnViewProps, 'onEdit'>) {
  const { t } = useTranslation();
  const isSilent = turn.text === '' && turn.reasoning === '' && !turn.toolCalls;
  const waiting = turn.status === 'streaming' && isSilent;
  return (
    <article aria-busy={turn.status === 'streaming'} className="min-w-0">
      <p className="mb-1 font-mono text-xs text-ink-3">{turn.model}</p>
      {turn.reasoning ? (
        <details
          className="mb-3 rounded-md border border-line bg-sunken px-4 py-2 text-sm text-ink-2"
          open={turn.text === ''}
        >
          <summary className="font-medium">{t('playground.reasoning')}</summary>
          <p className="mt-2 break-words whitespace-pre-wrap">{turn.reasoning}</p>
        </details>
      ) : null}
      {waiting ? <p className="animate-breathe text-ink-3">{t('playground.thinking')}</p> : null}
      {turn.text ? <AnswerText turn={turn} /> : null}
      {turn.toolCalls ? (
        <Suspense>
          <ToolCalls calls={turn.toolCalls} onResults={onResults} />
        </Suspense>
      ) : null}
      <Ending turn={turn} onRetry={onRegenerate} />
      {turn.error && isAccountsLimit(turn.error) ? null : turn.status === 'failed' ? (
        <Alternatives of={alternatives} />
      ) : null}
      {turn.status === 'streaming' ? null : (
        <div className="mt-2 flex flex-wrap items-center gap-x-1 gap-y-1">
          {turn.text ? <CopyIconButton text={turn.text} label={t('playground.copy')} /> : null}
          {onRegenerate ? (
            <IconButton label={t('playground.regenerate')} onClick={onRegenerate}>
              <RefreshCw size={14} aria-hidden />
            </IconButton>
          ) : null}
          {turn.receipt ? <AnswerFacts receipt={turn.receipt} /> : null}
        </div>
      )}
    </article>
  );
}

function AnswerText({ turn: { text, format, status } }: { turn: Turn }) {
  if (!format) return <Markdown text={text} />;
  const plain = <p className="font-mono text-sm break-words whitespace-pre-wrap">{text}</p>;
  // Half an answer is not JSON yet.
  if (status === 'streaming') return plain;
  return (
    <Suspense fallback={plain}>
      <JsonAnswer text={text} format={format} />
    </Suspense>
  );
}

function Alternatives({ of }: { of: TurnViewProps['alternatives'] }) {
  const { t } = useTranslation();
  if (!of || of.length === 0) return null;
  return (
    <div className="mt-2 flex flex-wrap gap-2">
      {of.map(({ name, onTry }) => (
        <Button key={name} small onClick={onTry}>
          {t('chats.tryOn', { model: name })}
        </Button>
      ))}
    </div>
  );
}

/** Why an answer did not end normally. */
function Ending({ turn, onRetry }: { turn: Turn; onRetry: (() => void) | undefined }) {
  const { t } = useTranslation();
  if (turn.error) {
    return (
      <RefusalNotice error={turn.error} onRetry={onRetry}>
        {turn.isRefused && !isAccountsLimit(turn.error) ? (
          <Link href="/app/refused" className="font-medium underline underline-offset-2">
            {t('chats.whyRefused')}
          </Link>
        ) : null}
      </RefusalNotice>
    );
  }
  if (turn.status === 'stopped') return <p className="mt-2 text-sm text-ink-3">{t('playground.stopped')}</p>;
  if (turn.finish === 'length')
    return <p className="mt-2 text-sm text-warn">{t('playground.finishLength')}</p>;
  if (turn.finish === 'content_filter')
    return <p className="mt-2 text-sm text-warn">{t('playground.finishFilter')}</p>;
  return null;
}

/** What an answer cost and how fast it was, in one line. */
function AnswerFacts({ receipt }: { receipt: PlaygroundReceipt }) {
  const { t, i18n } = useTranslation();
  const count = (value: number): string => formatCount(value, i18n.language);
  const time = (ms: number): string => formatDuration(ms, i18n.language);
  return (
    <p className="flex flex-wrap gap-x-3 pl-1 text-sm text-ink-3 tabular-nums">
      <Money usd={receipt.costUsd} kind="charge" plain className="font-medium text-ink-2" />
      {receipt.images > 0 ? null : (
        <span>
          {t('playground.tokensLine', {
            input: count(receipt.inputTokens),
            output: count(receipt.outputTokens),
          })}
          {receipt.cachedTokens > 0 ? `, ${t('playground.cachedLine', { count: receipt.cachedTokens })}` : ''}
        </span>
      )}
      {receipt.firstByteMs === null ? null : (
        <span>{t('playground.firstByte', { time: time(receipt.firstByteMs) })}</span>
      )}
      {receipt.durationMs === null ? null : (
        <span>{t('playground.total', { time: time(receipt.durationMs) })}</span>
      )}
      <Link
        href={`/app/requests?id=${receipt.requestId}`}
        className="text-accent underline-offset-2 hover:underline"
      >
        {t('playground.receipt')}
      </Link>
    </p>
  );
}
