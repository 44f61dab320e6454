import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import CodeXml from 'lucide-react/icons/code-xml';
import RotateCcw from 'lucide-react/icons/rotate-ccw';
import SlidersHorizontal from 'lucide-react/icons/sliders-horizontal';
import type { ModelItem } from '../../../src/console/contract.ts';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { Empty } from '../../ui/States.tsx';
import { Composer } from './Composer.tsx';
import { CodeDialog } from './CodeDialog.tsx';
import { ModelPicker } from './ModelPicker.tsx';
import { Suggestions } from './Suggestions.tsx';
import { ParameterFields } from './ParameterFields.tsx';
import { bodyWith } from './conversation.ts';
import { MaxCost } from './MaxCost.tsx';
import { choiceOf, chosenModel, recipeOf, useDraft } from './recipe.ts';
import { TurnView } from './TurnView.tsx';
import { useConversation } from './useConversation.ts';
import { useFollow } from './useFollow.ts';

const NAME = 'chat';

export function ChatTab({ models, wanted }: { models: readonly ModelItem[]; wanted: string | undefined }) {
  const { t } = useTranslation();
  const [draft, change] = useDraft(NAME);
  const [conversation, { turns, busy }] = useConversation(NAME);
  useEffect(() => {
    if (wanted) change({ choice: wanted });
    // A link names the model once; afterwards the choice is the person's.
  }, [wanted]); // oxlint-disable-line react/exhaustive-deps
  useFollow(turns);
  const model = chosenModel(models, draft.choice);
  if (!model) return null;
  const recipe = recipeOf(draft, model);
  const panel = (
    <div className="flex flex-col gap-4">
      <ModelPicker models={models} value={choiceOf(model)} onChange={(choice) => change({ choice })} />
      <ParameterFields draft={draft} change={change} />
    </div>
  );
  return (
    <div className="grid gap-8 lg:grid-cols-[minmax(0,1fr)_18rem]">
      <section className="flex min-h-[calc(100dvh-15rem)] min-w-0 flex-col">
        <Tools panel={panel} model={model} recipe={recipe} turns={turns} onClear={conversation.clear} />
        <div className="flex flex-1 flex-col gap-6 pb-6">
          {turns.length === 0 ? (
            <div className="my-auto">
              <Empty
                title={t('playground.empty')}
                action={
                  model.model === 'house-guide' ? (
                    <Suggestions onAsk={(question) => conversation.send(recipe, question, [])} />
                  ) : null
                }
              >
                {t('playground.emptyLead')}
              </Empty>
            </div>
          ) : null}
          {turns.map((turn, index) => (
            <TurnView
              key={turn.id}
              turn={turn}
              onRegenerate={
                index === turns.length - 1 && !busy ? () => conversation.regenerate(recipe) : undefined
              }
              onEdit={busy ? undefined : (text) => conversation.edit(recipe, turn.id, text)}
            />
          ))}
        </div>
        <Composer
          busy={busy}
          vision={model.vision}
          modelName={model.displayName}
          onStop={conversation.stop}
          onSend={(text, images) => conversation.send(recipe, text, images)}
          note={(text, images) => (
            <MaxCost body={text.trim() === '' ? undefined : bodyWith(recipe, turns, text, images)} />
          )}
        />
      </section>
      <aside className="hidden lg:block">
        <div className="sticky top-6">{panel}</div>
      </aside>
    </div>
  );
}

interface ToolsProps {
  readonly panel: React.ReactNode;
  readonly model: ModelItem;
  readonly recipe: ReturnType<typeof recipeOf>;
  readonly turns: ReturnType<typeof useConversation>[1]['turns'];
  readonly onClear: () => void;
}

function Tools({ panel, model, recipe, turns, onClear }: ToolsProps) {
  const { t } = useTranslation();
  const [open, setOpen] = useState<'panel' | 'code'>();
  return (
    <div className="mb-4 flex flex-wrap items-center justify-end gap-2">
      <Button
        small
        className="mr-auto max-w-[55vw] lg:hidden"
        icon={<SlidersHorizontal size={14} aria-hidden className="shrink-0" />}
        onClick={() => setOpen('panel')}
      >
        <span className="truncate">{model.displayName}</span>
      </Button>
      <Button small kind="ghost" icon={<CodeXml size={14} aria-hidden />} onClick={() => setOpen('code')}>
        {t('playground.code')}
      </Button>
      <Button
        small
        kind="ghost"
        disabled={turns.length === 0}
        icon={<RotateCcw size={14} aria-hidden />}
        onClick={onClear}
      >
        {t('playground.clear')}
      </Button>
      <Dialog
        open={open === 'panel'}
        kind="sheet"
        title={t('playground.settings')}
        onClose={() => setOpen(undefined)}
      >
        {panel}
      </Dialog>
      {open === 'code' ? (
        <CodeDialog recipe={recipe} turns={turns} onClose={() => setOpen(undefined)} />
      ) : null}
    </div>
  );
}
