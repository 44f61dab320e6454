import CodeXml from 'lucide-react/icons/code-xml';
import MessagesSquare from 'lucide-react/icons/messages-square';
import RotateCcw from 'lucide-react/icons/rotate-ccw';
import SlidersHorizontal from 'lucide-react/icons/sliders-horizontal';
import { Suspense, useEffect, useState, useRef } from 'react';
import questions from '../../../docs/guide/questions.json';
import type { Answer } from '../../../src/console/contract/routes.ts';
import type { ModelItem } from '../../lib/answers.ts';
import { call } from '../../lib/api.ts';
import { later } from '../../lib/chunk.ts';
import { formatExactUsd } from '../../lib/money.ts';
import { publicOrigin } from '../../lib/browser.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { useWallet } from '../../lib/wallet.ts';
import { Button } from '../../ui/Button.tsx';
import { Code } from '../../ui/Code.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { Empty, Skeleton } from '../../ui/States.tsx';
import { Tabs } from '../../ui/Tabs.tsx';
import { toast } from '../../ui/Toast.tsx';
import { alternativesTo } from './alternatives.ts';
import { asCode, DIALECTS, type Dialect } from './asCode.ts';
import { ChatsSheet } from './ChatsSheet.tsx';
import { Composer } from './Composer.tsx';
import { bodyWith, bodyOf, type Turn } from './conversation.ts';
import { ModelPicker } from './ModelPicker.tsx';
import { ParameterFields } from './ParameterFields.tsx';
import { chosenModel, recipeOf, useDraft, type Recipe } from './recipe.ts';
import { chatFromFragment, isChatFragment } from './sharedChat.ts';
import { formProblem } from './structured/answerForm.ts';
import { TurnView } from './TurnView.tsx';
import { useConversation, type Run } from './useRun.ts';
import { useKeptChats, type KeptChats } from './useKeptChats.ts';
import { choiceOf } from '../models/group.ts';

type PlaygroundQuote = Answer<'POST /api/console/playground/quote'>;

const AnswerFields = later(() => import('./structured/AnswerFields.tsx'));

const NAME = 'chat';

interface ChatTabProps {
  readonly models: readonly ModelItem[];
  /** The model that a link to this page names. */
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
    // A link sets them once; afterwards the choice is the user's.
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

/** Opens the chat that the page's link carries, once, and removes it from the address. */
function useLinkedChat({ add }: Pick<KeptChats, 'add'>): void {
  const { t } = useTranslation();
  useEffect(() => {
    const { hash, pathname, search } = location;
    if (!isChatFragment(hash)) return;
    history.replaceState(history.state, '', `${pathname}${search}`);
    void chatFromFragment(hash).then((chat) => (chat ? add(chat) : toast(t('chats.brokenLink'), 'bad')));
    // The link is read when the page opens.
  }, []); // oxlint-disable-line react/exhaustive-deps
}

const NEAR_END_PX = 240;

/** Keeps the end of a growing conversation in view, unless the reader has scrolled up to read. A new turn always shows. */
function useFollow(turns: readonly { readonly text: string }[]): void {
  const before = useRef(turns.length);
  useEffect(() => {
    const page = document.documentElement;
    const distance = page.scrollHeight - page.scrollTop - page.clientHeight;
    if (turns.length > before.current || (turns.length > 0 && distance < NEAR_END_PX))
      page.scrollTop = page.scrollHeight;
    before.current = turns.length;
  }, [turns]);
}

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

/** Questions that the model of the guides answers well; a phone has room for half of them. */
function Suggestions({ onAsk }: { onAsk: (question: string) => void }) {
  const { t } = useTranslation();
  return (
    <ul lang="en" aria-label={t('playground.suggestions')} className="flex flex-wrap justify-center gap-2">
      {questions.map((question) => (
        <li key={question} className="max-sm:nth-[n+6]:hidden">
          <Button small onClick={() => onAsk(question)}>
            {question}
          </Button>
        </li>
      ))}
    </ul>
  );
}

interface TurnsProps {
  readonly run: Omit<Run, 'recipe'> & { readonly models: readonly ModelItem[] };
  readonly isBlocked: boolean;
}

function Turns({ run: { conversation, state, draft, change, model, models }, isBlocked }: TurnsProps) {
  const { turns, busy } = state;
  const recipe = recipeOf(draft, model);
  const needsTools = recipe.parameters.tools !== undefined;
  const alternatives = alternativesTo(model, models, turns, needsTools).map((other) => ({
    // The same model elsewhere is told apart by its endpoint.
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
        <span className="max-sm:sr-only">{t('playground.code')}</span>
      </Button>
      <Button
        small
        kind="ghost"
        disabled={turns.length === 0}
        icon={<RotateCcw size={14} aria-hidden />}
        onClick={kept.begin}
      >
        <span className="max-sm:sr-only">{t('playground.clear')}</span>
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

const DIALECT_NAMES = Object.keys(DIALECTS) as Dialect[];

function CodeDialog({
  recipe,
  turns,
  onClose,
}: {
  recipe: Recipe;
  turns: readonly Turn[];
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const [dialect, setDialect] = useState<Dialect>('curl');
  const asked =
    turns.length > 0
      ? bodyOf(recipe, dropLastAnswer(turns))
      : { ...bodyOf(recipe, []), messages: [{ role: 'user' as const, content: '…' }] };
  const code = asCode(dialect, publicOrigin(), shortenFiles(asked));
  return (
    <Dialog open kind="wide" title={t('playground.codeTitle')} onClose={onClose}>
      <Tabs
        label={t('playground.code')}
        value={dialect}
        onChange={setDialect}
        tabs={DIALECT_NAMES.map((value) => ({ value, label: DIALECTS[value] }))}
      >
        <Code code={code} label={DIALECTS[dialect]} />
      </Tabs>
    </Dialog>
  );
}

/** The code asks the last question again, so its answer is not part of it. */
function dropLastAnswer(turns: readonly Turn[]): readonly Turn[] {
  return turns.at(-1)?.role === 'assistant' ? turns.slice(0, -1) : turns;
}

/** A picture or a PDF is a megabyte of text; in sample code its beginning is enough. */
function shortenFiles<Body>(body: Body): Body {
  const json = JSON.stringify(body, (_, value: unknown) =>
    typeof value === 'string' && /^data:(?:image\/\w+|application\/pdf);base64,/.test(value)
      ? `${value.slice(0, 40)}…`
      : value,
  );
  return JSON.parse(json) as Body;
}

/** Long enough not to ask at every letter. */
const QUOTE_PAUSE_MS = 400;

interface MaxCostProps {
  /** The request as it would be sent; undefined while there is nothing to send. */
  readonly body: { readonly endpoint: string; readonly model: string } | undefined;
}

/** The most a request can cost, before it is sent. Empty if that cannot be known: sending it gives the reason. */
function MaxCost({ body }: MaxCostProps) {
  const { t, i18n } = useTranslation();
  const quote = useQuote(body);
  if (!quote) return null;
  const price = formatExactUsd(quote.maxCostUsd, i18n.language);
  return (
    <span role="status" className="text-sm text-ink-2 tabular-nums">
      {Number(quote.maxCostUsd) === 0 ? t('playground.atMostFree') : t('playground.atMost', { price })}
    </span>
  );
}

function useQuote(body: MaxCostProps['body']): PlaygroundQuote | undefined {
  const [known, setKnown] = useState<{ readonly text: string; readonly quote: PlaygroundQuote }>();
  const { wallet } = useWallet();
  // The body is a new object in each render; its text is not.
  const text = body && JSON.stringify(body);
  useEffect(() => {
    if (text === undefined) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      // The text was made from such a body above.
      const asked = JSON.parse(text) as NonNullable<MaxCostProps['body']>;
      call('POST /api/console/playground/quote', { query: { wallet }, body: asked, signal: abort.signal })
        .then((quote) => setKnown({ text, quote }))
        .catch(() => undefined);
    }, QUOTE_PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, wallet]);
  // The last quote may still be that of an earlier text.
  return known?.text === text ? known?.quote : undefined;
}
