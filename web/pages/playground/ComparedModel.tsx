import X from 'lucide-react/icons/x';
import type { ModelItem } from '../../../src/console/contract.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { IconButton } from '../../ui/Button.tsx';
import { ModelPicker } from './ModelPicker.tsx';
import { ParameterFields } from './ParameterFields.tsx';
import { choiceOf } from './recipe.ts';
import { TurnView } from './TurnView.tsx';
import type { Run } from './useRun.ts';

interface ComparedModelProps {
  readonly run: Run;
  readonly models: readonly ModelItem[];
  readonly onRemove: (() => void) | undefined;
}

/** One column of a comparison. */
export function ComparedModel({ run, models, onRemove }: ComparedModelProps) {
  const { t } = useTranslation();
  const { model, draft, change, recipe, conversation, state } = run;
  return (
    <section
      aria-label={model.displayName}
      className="flex min-w-0 snap-center flex-col rounded-lg border border-line bg-surface"
    >
      <div className="flex items-center gap-2 border-b border-line p-3">
        <div className="min-w-0 flex-1">
          <ModelPicker
            hideLabel
            models={models}
            value={choiceOf(model)}
            onChange={(choice) => change({ choice })}
          />
        </div>
        {onRemove ? (
          <IconButton label={t('playground.removeColumn', { model: model.displayName })} onClick={onRemove}>
            <X size={15} aria-hidden />
          </IconButton>
        ) : null}
      </div>
      <details className="border-b border-line px-4 py-2 text-sm">
        <summary className="text-ink-3">{t('playground.parameters')}</summary>
        <div className="py-3">
          <ParameterFields draft={draft} change={change} />
        </div>
      </details>
      <div className="flex flex-1 flex-col gap-5 p-4">
        {state.turns.length === 0 ? (
          <p className="m-auto max-w-[34ch] py-10 text-center text-ink-3">
            {t('playground.compareEmptyLead')}
          </p>
        ) : null}
        {state.turns.map((turn, index) => (
          <TurnView
            key={turn.id}
            turn={turn}
            onRegenerate={
              index === state.turns.length - 1 && !state.busy
                ? () => conversation.regenerate(recipe)
                : undefined
            }
          />
        ))}
      </div>
    </section>
  );
}
