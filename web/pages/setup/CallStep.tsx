import questions from '../../../docs/guide/questions.json' with { type: 'json' };
import type { ModelItem } from '../../../src/console/contract.ts';
import { useApi } from '../../lib/api.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Markdown } from '../../ui/Markdown.tsx';
import { FormError } from '../../ui/States.tsx';
import type { FirstCallRun } from './firstCall.ts';

const [QUESTION = ''] = questions;

interface CallStepProps {
  readonly call: FirstCallRun;
  /** Null: none can be used. */
  readonly model: ModelItem | null | undefined;
}

/** One real call, streamed. */
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

/** The question is about Tollgate, so the model that reads the guides is asked where there is one. */
export function useFirstModel(): ModelItem | null | undefined {
  const models = useApi('GET /api/console/models').data?.models;
  if (!models) return undefined;
  const usable = models.filter((model) => model.type === 'chat_completion' && model.unavailable === null);
  return usable.find(({ model }) => model === GUIDE) ?? usable[0] ?? null;
}

/** The built-in model that answers from the guides. */
export const GUIDE = 'house-guide';
