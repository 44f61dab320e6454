import { useTranslation } from 'react-i18next';
import questions from '../../../docs/guide/questions.json' with { type: 'json' };
import type { ModelItem } from '../../../src/console/contract.ts';
import { useApi } from '../../lib/api.ts';
import { approximate, formatUsd } from '../../lib/money.ts';
import { Button } from '../../ui/Button.tsx';
import { Markdown } from '../../ui/Markdown.tsx';
import { FormError } from '../../ui/States.tsx';
import { CallReceipt } from './CallReceipt.tsx';
import { useFirstCall } from './firstCall.ts';

const [QUESTION = ''] = questions;

/** One real call, streamed, with its receipt under it. */
export function CallStep({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation();
  const models = useApi('GET /api/console/models').data?.models;
  const model = models && firstModel(models);
  const call = useFirstCall();
  const ask = (): void => {
    if (model) void call.run(model, QUESTION);
  };
  return (
    <div className="flex flex-col gap-4">
      {models && !model ? <p className="text-ink-2">{t('setup.noModel')}</p> : null}
      {model ? <Lead model={model.displayName} /> : null}
      {model ? (
        <blockquote lang="en" className="border-l-2 border-accent pl-4 text-lg">
          {QUESTION}
        </blockquote>
      ) : null}
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
      {call.receipt ? <CallReceipt receipt={call.receipt} /> : null}
      <FormError error={call.error} />
      <div className="flex flex-wrap gap-2">
        <Button
          kind={call.receipt ? 'plain' : 'primary'}
          busy={call.busy}
          disabled={model === undefined}
          onClick={ask}
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

/** The question is about Tollgate, so the model that reads the guides is asked where there is one. */
function firstModel(models: readonly ModelItem[]): ModelItem | undefined {
  const usable = models.filter((model) => model.type === 'chat_completion' && model.unavailable === null);
  return usable.find(({ model }) => model === 'house-guide') ?? usable[0];
}

function Lead({ model }: { model: string }) {
  const { t, i18n } = useTranslation();
  // Asked once: what the account began with stays true while the receipt says what is left.
  const balance = useApi('GET /api/console/overview', undefined, { staleTime: Infinity }).data?.balanceUsd;
  const credited = balance !== undefined && approximate(balance) > 0;
  return (
    <p className="text-ink-2">
      {credited ? `${t('setup.callCredit', { balance: formatUsd(balance, i18n.language) })} ` : null}
      {t('setup.callLead', { model })}
    </p>
  );
}
