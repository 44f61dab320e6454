import { lazy, Suspense, useEffect, useState } from 'react';
import CodeXml from 'lucide-react/icons/code-xml';
import MessagesSquare from 'lucide-react/icons/messages-square';
import RotateCcw from 'lucide-react/icons/rotate-ccw';
import SlidersHorizontal from 'lucide-react/icons/sliders-horizontal';
import type { ModelItem } from '../../../src/console/contract.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { Empty, Skeleton } from '../../ui/States.tsx';
import { alternativesTo } from './alternatives.ts';
import { ChatsSheet } from './ChatsSheet.tsx';
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
import { useKeptChats, type KeptChats } from './useKeptChats.ts';
import { useLinkedChat } from './useLinkedChat.ts';
import type { Run } from './useRun.ts';
import { formProblem } from './structured/answerForm.ts';

const AnswerFields = lazy(() => import('./structured/AnswerFields.tsx'));

const NAME = 'chat';

interface ChatTabProps {
  readonly models: readonly ModelItem[];
  /** What a link to this page names. */
  readonly wanted: string | undefined;
  readonly maxTokens: string | undefined;
}

export function ChatTab({ models, wanted, maxTokens }: ChatTabProps) {
  const { t } = useTranslation();
  const [draft, change] = useDraft(NAME);
  const [conversation, state] = useConversation(NAME);
  const { turns, busy } = state;
  const kept = useKeptChats({ conversation, state, draft, change });
  useLinkedChat(kept);
  useEffect(() => {
    if (wanted) change({ choice: wanted });
    if (maxTokens) change({ maxTokens });
    // A link names them once; afterwards the choice is the person's.
  }, [wanted, maxTokens]); // oxlint-disable-line react/exhaustive-deps
  useFollow(turns);
  const model = chosenModel(models, draft.choice);
  if (!model) return null;
  const recipe = recipeOf(draft, model);
  const isBlocked = formProblem(draft) !== undefined;
  const panel = (
    <div className="flex flex-col gap-4">
      <ModelPicker models={models} value={choiceOf(model)} onChange={(choice) => change({ choice })} />
      <ParameterFields draft={draft} change={change} />
      <Suspense fallback={<Skeleton className="h-32 w-full" />}>
        <AnswerFields form={draft} model={model} change={change} />
      </Suspense>
    </div>
  );
  return (
    <div className="grid gap-8 lg:grid-cols-[minmax(0,1fr)_18rem]">
      <section className="flex min-h-[calc(100dvh-15rem)] min-w-0 flex-col">
        <Tools panel={panel} model={model} recipe={recipe} turns={turns} kept={kept} />
        <div className="flex flex-1 flex-col gap-6 pb-6">
          {turns.length === 0 ? (
            <Beginning
              onAsk={
                model.model === 'house-guide' && !isBlocked
                  ? (question) => conversation.send(recipe, question)
                  : undefined
              }
            />
          ) : null}
          <Turns run={{ conversation, state, draft, change, model, models }} isBlocked={isBlocked} />
        </div>
        <Composer
          busy={busy}
          takes={model}
          blocked={
            isBlocked
              ? t(draft.schema.trim() === '' ? 'structured.schemaFirst' : 'structured.fixFirst')
              : undefined
          }
          onStop={conversation.stop}
          onSend={(text, attached) => conversation.send(recipe, text, attached)}
          note={(text, attached) => <MaxCost body={bodyWith(recipe, turns, text, attached)} />}
        />
      </section>
      <aside aria-label={t('playground.parameters')} className="hidden lg:block">
        <div className="thin-scroll sticky top-6 -mx-2 max-h-[calc(100dvh-3rem)] overflow-y-auto px-2 pb-2">
          {panel}
        </div>
      </aside>
    </div>
  );
}

/** A chat without a question yet. */
function Beginning({ onAsk }: { onAsk: ((question: string) => void) | undefined }) {
  const { t } = useTranslation();
  return (
    <div className="my-auto">
      <Empty title={t('playground.empty')} action={onAsk ? <Suggestions onAsk={onAsk} /> : null}>
        {t('playground.emptyLead')}
      </Empty>
    </div>
  );
}

interface TurnsProps {
  readonly run: Omit<Run, 'recipe'> & { readonly models: readonly ModelItem[] };
  /** Nothing can be sent now. */
  readonly isBlocked: boolean;
}

function Turns({ run: { conversation, state, draft, change, model, models }, isBlocked }: TurnsProps) {
  const { turns, busy } = state;
  const recipe = recipeOf(draft, model);
  const needsTools = recipe.parameters.tools !== undefined;
  const alternatives = alternativesTo(model, models, turns, needsTools).map((other) => ({
    // The same model elsewhere is told apart by where that is.
    name: other.model === model.model ? `${other.displayName} · ${other.endpointName}` : other.displayName,
    onTry: () => {
      change({ choice: choiceOf(other) });
      conversation.regenerate(recipeOf(draft, other));
    },
  }));
  return turns.map((turn, index) => {
    const canAsk = !busy && !isBlocked;
    const isLast = index === turns.length - 1 && canAsk;
    return (
      <TurnView
        key={turn.id}
        turn={turn}
        onRegenerate={isLast ? () => conversation.regenerate(recipe) : undefined}
        onEdit={canAsk ? (text) => conversation.edit(recipe, turn.id, text) : undefined}
        onResults={isLast ? (results) => conversation.answerCalls(recipe, turn.id, results) : undefined}
        alternatives={isLast ? alternatives : undefined}
      />
    );
  });
}

interface ToolsProps {
  readonly panel: React.ReactNode;
  readonly model: ModelItem;
  readonly recipe: ReturnType<typeof recipeOf>;
  readonly turns: ReturnType<typeof useConversation>[1]['turns'];
  readonly kept: KeptChats;
}

function Tools({ panel, model, recipe, turns, kept }: ToolsProps) {
  const { t } = useTranslation();
  const [open, setOpen] = useState<'panel' | 'code' | 'chats'>();
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
      <Button
        small
        kind="ghost"
        icon={<MessagesSquare size={14} aria-hidden />}
        onClick={() => setOpen('chats')}
      >
        {t('chats.open')}
      </Button>
      <Button small kind="ghost" icon={<CodeXml size={14} aria-hidden />} onClick={() => setOpen('code')}>
        {t('playground.code')}
      </Button>
      <Button
        small
        kind="ghost"
        disabled={turns.length === 0}
        icon={<RotateCcw size={14} aria-hidden />}
        onClick={kept.begin}
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
      {open === 'chats' ? <ChatsSheet kept={kept} onClose={() => setOpen(undefined)} /> : null}
      {open === 'code' ? (
        <CodeDialog recipe={recipe} turns={turns} onClose={() => setOpen(undefined)} />
      ) : null}
    </div>
  );
}
