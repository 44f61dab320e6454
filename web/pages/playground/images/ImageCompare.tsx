import { useState, useSyncExternalStore } from 'react';
import Plus from 'lucide-react/icons/plus';
import type { ModelItem } from '../../../lib/answers.ts';
import { classes } from '../../../lib/classes.ts';
import { makeStore } from '../../../lib/store.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Field, Textarea } from '../../../ui/Field.tsx';
import { Form } from '../../../ui/Form.tsx';
import { ColumnModel } from '../ModelPicker.tsx';
import { chosenModel } from '../recipe.ts';
import { GenerateButton } from './GenerateButton.tsx';
import { ImageControls } from './ImageControls.tsx';
import { changeImageDraft, useImageDraft } from './imageDraft.ts';
import { startRun, useImageRuns, type ImageRun } from './imageRuns.ts';
import { ImageRunView } from './ImageRunView.tsx';
import { bodyOf, type ImageDraft } from './order.ts';
import { useImageQuotes, type ImageQuote } from './useImageQuote.ts';
import { Price } from '../../../ui/Money.tsx';
import { choiceOf } from '../../models/group.ts';

const WIDE_COLUMNS: Record<number, string> = { 3: 'xl:grid-cols-3', 4: 'xl:grid-cols-4' };
const MOST = 4;

interface Column {
  readonly key: number;
  readonly choice: string;
  readonly values: ImageDraft['values'];
  readonly runId: number | undefined;
}

let nextKey = 1;
/** Survives leaving the page, like the runs in it. */
const store = makeStore<{ readonly columns: readonly Column[] }>({ columns: [] });

/** Until somebody chooses, the columns have different models, as far as there are enough. */
function columnsFor(models: readonly ModelItem[]): readonly Column[] {
  const { columns } = store.get();
  if (columns.length > 0) return columns;
  const usable = models.filter(({ unavailable }) => !unavailable);
  const first = [usable[0], usable[1] ?? usable[0]].flatMap((model) => model ?? []);
  const made = first.map((model) => newColumn(choiceOf(model)));
  store.change({ columns: made });
  return made;
}

function newColumn(choice: string): Column {
  return { key: nextKey++, choice, values: {}, runId: undefined };
}

/** Sends the same prompt to up to four models, each with the options that it supports. */
export function ImageCompare({ models }: { models: readonly ModelItem[] }) {
  const { t } = useTranslation();
  useState(() => columnsFor(models));
  const { columns } = useSyncExternalStore(store.subscribe, store.get);
  const { prompt } = useImageDraft().draft;
  const runs = useImageRuns();
  const shown = columns.flatMap((column) => {
    const model = chosenModel(models, column.choice);
    if (!model) return [];
    const draft = { choice: column.choice, prompt, values: column.values };
    return [{ column, model, draft, body: bodyOf(draft, model) }];
  });
  const quotes = useImageQuotes(
    shown.map(({ model, body }) => ({ model, body, references: 0, hasMask: false })),
  );
  const change = (key: number, next: Partial<Column>): void =>
    store.change({
      columns: store.get().columns.map((column) => (column.key === key ? { ...column, ...next } : column)),
    });
  const isRunning = shown.some(
    ({ column }) => runs.find(({ id }) => id === column.runId)?.state === 'running',
  );
  const start = (): void => {
    for (const { column, model, body } of shown)
      change(column.key, { runId: startRun({ model, body, references: [], mask: undefined }) });
  };
  return (
    <Form className="flex flex-col gap-4 pb-16" onSubmit={start}>
      <PromptField prompt={prompt} />
      <div className="flex flex-wrap items-center gap-2">
        <GenerateButton
          quotes={quotes}
          isExact={shown.every(({ model }) => model.price.kind === 'images')}
          disabled={prompt.trim() === '' || isRunning}
        />
        {columns.length < MOST ? (
          <Button
            icon={<Plus size={15} aria-hidden />}
            onClick={() => store.change({ columns: [...columns, newColumn(columns[0]?.choice ?? '')] })}
          >
            {t('playground.addColumn')}
          </Button>
        ) : null}
      </div>
      <div className={classes('grid gap-4 sm:grid-cols-2', WIDE_COLUMNS[shown.length])}>
        {shown.map(({ column, model, draft }, index) => (
          <ComparedImage
            key={column.key}
            models={models}
            model={model}
            draft={draft}
            quote={quotes[index]}
            run={runs.find(({ id }) => id === column.runId)}
            onChange={(next) => change(column.key, next)}
            onRemove={
              columns.length > 2
                ? () => store.change({ columns: columns.filter(({ key }) => key !== column.key) })
                : undefined
            }
          />
        ))}
      </div>
    </Form>
  );
}

function PromptField({ prompt }: { prompt: string }) {
  const { t } = useTranslation();
  return (
    <Field label={t('playground.prompt')}>
      {(ids) => (
        <Textarea
          {...ids}
          rows={3}
          required
          maxLength={32_000}
          placeholder={t('playground.promptPlaceholder')}
          value={prompt}
          onChange={(event) => changeImageDraft({ prompt: event.target.value })}
        />
      )}
    </Field>
  );
}

interface ComparedImageProps {
  readonly models: readonly ModelItem[];
  readonly model: ModelItem;
  readonly draft: ImageDraft;
  readonly quote: ImageQuote | undefined;
  readonly run: ImageRun | undefined;
  readonly onChange: (next: Partial<Column>) => void;
  readonly onRemove: (() => void) | undefined;
}

function ComparedImage({ models, model, draft, quote, run, onChange, onRemove }: ComparedImageProps) {
  const { t } = useTranslation();
  return (
    <section
      aria-label={`${model.displayName} · ${model.endpoint}`}
      className="flex min-w-0 flex-col rounded-lg border border-line bg-surface"
    >
      <ColumnModel
        models={models}
        model={model}
        onChange={(choice) => onChange({ choice })}
        onRemove={onRemove}
      />
      <details className="border-b border-line px-4 py-2 text-sm">
        <summary className="text-ink-3">
          {t('playground.parameters')}
          {quote?.kind === 'known' ? (
            <span className="float-right">
              <Price usd={quote.maxCostUsd} />
            </span>
          ) : null}
        </summary>
        <div className="py-3">
          <ImageControls
            model={model}
            draft={draft}
            onChange={(field, value) => onChange({ values: { ...draft.values, [field]: value } })}
          />
        </div>
      </details>
      <div className="flex flex-1 flex-col p-3">
        {run ? (
          <ImageRunView run={run} compact />
        ) : (
          <p className="m-auto max-w-[34ch] py-10 text-center text-ink-3">{t('studio.compareEmpty')}</p>
        )}
      </div>
    </section>
  );
}
