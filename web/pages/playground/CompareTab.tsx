import Plus from 'lucide-react/icons/plus';
import { useState } from 'react';
import type { ModelItem } from '../../lib/answers.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Composer } from './Composer.tsx';
import { ColumnModel } from './ModelPicker.tsx';
import { ParameterFields } from './ParameterFields.tsx';

import { TurnView } from './TurnView.tsx';
import { useRun, type Run } from './useRun.ts';

const COLUMNS = ['a', 'b', 'c', 'd'] as const;
type Column = (typeof COLUMNS)[number];

/** The columns shown; like their contents, they survive leaving the page. */
let shownColumns: readonly Column[] = ['a', 'b'];

function rememberColumns(columns: readonly Column[]): void {
  shownColumns = columns;
}

/** The same question to two to four models, each with its own parameters. */
export function CompareTab({ models }: { models: readonly ModelItem[] }) {
  const { t } = useTranslation();
  const [columns, setColumns] = useState(shownColumns);
  const all: Record<Column, Run | undefined> = {
    a: useRun('compare-a', models, 0),
    b: useRun('compare-b', models, 1),
    c: useRun('compare-c', models, 2),
    d: useRun('compare-d', models, 3),
  };
  const show = (next: readonly Column[]): void => {
    rememberColumns(next);
    setColumns(next);
  };
  const runs = columns.flatMap((column) => {
    const run = all[column];
    return run ? [{ column, run }] : [];
  });
  const free = COLUMNS.find((column) => !columns.includes(column));
  return (
    <div className="flex min-h-[calc(100dvh-15rem)] flex-col gap-4">
      <div className="thin-scroll relative -mx-4 grid flex-1 snap-x snap-mandatory auto-cols-[minmax(17rem,1fr)] grid-flow-col gap-4 overflow-x-auto px-4 sm:mx-0 sm:px-0">
        {runs.map(({ column, run }) => (
          <ComparedModel
            key={column}
            run={run}
            models={models}
            onRemove={
              columns.length > 2 ? () => show(columns.filter((other) => other !== column)) : undefined
            }
          />
        ))}
      </div>
      {free ? (
        <Button
          small
          className="self-start"
          icon={<Plus size={14} aria-hidden />}
          onClick={() => show([...columns, free])}
        >
          {t('playground.addColumn')}
        </Button>
      ) : null}
      <Composer
        takes={undefined}
        busy={runs.some(({ run }) => run.state.busy)}
        onStop={() => runs.forEach(({ run }) => run.conversation.stop())}
        onSend={(text) => runs.forEach(({ run }) => run.conversation.send(run.recipe, text))}
      />
    </div>
  );
}

interface ComparedModelProps {
  readonly run: Run;
  readonly models: readonly ModelItem[];
  readonly onRemove: (() => void) | undefined;
}

function ComparedModel({ run, models, onRemove }: ComparedModelProps) {
  const { t } = useTranslation();
  const { model, draft, change, recipe, conversation, state } = run;
  return (
    <section
      aria-label={model.displayName}
      className="flex min-w-0 snap-center flex-col rounded-lg border border-line bg-surface"
    >
      <ColumnModel
        models={models}
        model={model}
        onChange={(choice) => change({ choice })}
        onRemove={onRemove}
      />
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
