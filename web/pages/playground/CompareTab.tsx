import { useState } from 'react';
import Plus from 'lucide-react/icons/plus';
import type { ModelItem } from '../../../src/console/contract.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Composer } from './Composer.tsx';
import { ComparedModel } from './ComparedModel.tsx';
import { useRun, type Run } from './useRun.ts';

const COLUMNS = ['a', 'b', 'c', 'd'] as const;
type Column = (typeof COLUMNS)[number];

/** The columns shown; kept while the page is away, like what is in them. */
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
