import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { AdminPriceRow } from '../../../../lib/answers.ts';
import { useApi } from '../../../../lib/api.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { Button } from '../../../../ui/Button.tsx';
import { Card } from '../../../../ui/Card.tsx';
import { Empty, FormError, Loaded, SkeletonRows } from '../../../../ui/States.tsx';
import { useDraftEdit } from '../../draft/draft.ts';
import { draftedEdits, isWrong, savedChanges, type PriceEdits } from './edits.ts';
import { PriceRows } from './PriceRows.tsx';
import { PriceTools } from './PriceTools.tsx';

interface PriceTableProps {
  /** Something typed is not in the draft yet, or is not an amount. */
  readonly onPending: (isPending: boolean) => void;
}

export function usePrices(options?: { readonly enabled: boolean }) {
  return useApi('GET /api/console/admin/prices', undefined, options);
}

/** Prices edited in place, saved to the draft as they are typed. */
export function PriceTable({ onPending }: PriceTableProps) {
  const { t } = useTranslation();
  const prices = usePrices();
  return (
    <Loaded query={prices} skeleton={<SkeletonRows rows={8} />}>
      {({ items }) =>
        items.length === 0 ? (
          <Card>
            <Empty title={t('priceTable.empty')} />
          </Card>
        ) : (
          <EditedPrices rows={items} onPending={onPending} />
        )
      }
    </Loaded>
  );
}

/** An edit that can be undone; typing in one field is one step. */
interface EditStep {
  readonly edits: PriceEdits;
  readonly field: string | undefined;
}

const MOST_STEPS = 200;

const TYPING_MS = 600;

interface EditedPricesProps extends PriceTableProps {
  readonly rows: readonly AdminPriceRow[];
}

function EditedPrices({ rows, onPending }: EditedPricesProps) {
  const [first] = useState(() => draftedEdits(rows));
  const [history, setHistory] = useState<readonly EditStep[]>([]);
  const [text, setText] = useState('');
  const { edits, field: lastField } = history.at(-1) ?? { edits: first, field: undefined };
  const { error } = useSavedEdits(rows, edits, first, onPending);
  const wanted = text.trim().toLowerCase();
  const matching = rows.filter(({ model, name, list }) =>
    `${model} ${name} ${list}`.toLowerCase().includes(wanted),
  );
  const edit = (next: PriceEdits, field?: string): void => {
    const isSameField = field !== undefined && field === lastField;
    setHistory(
      [...(isSameField ? history.slice(0, -1) : history), { edits: next, field }].slice(-MOST_STEPS),
    );
  };
  return (
    <div className="flex flex-col gap-5">
      <Card flush>
        <PriceTools
          rows={rows}
          matching={matching}
          edits={edits}
          search={text}
          onSearch={setText}
          onEdit={edit}
        />
        <PriceRows rows={matching} list={wanted} edits={edits} onEdit={edit} />
      </Card>
      <FormError error={error} />
      <Changes
        count={edits.size}
        onUndo={history.length === 0 ? undefined : () => setHistory(history.slice(0, -1))}
      />
    </div>
  );
}

/** Saves amounts to the draft a moment after they were typed; anything else is left out. */
function useSavedEdits(
  rows: readonly AdminPriceRow[],
  edits: PriceEdits,
  first: PriceEdits,
  onPending: (isPending: boolean) => void,
) {
  const { mutate, error, isPending } = useDraftEdit();
  const [saved, setSaved] = useState(first);
  const latest = useRef<() => void>(undefined);
  useEffect(() => {
    const save = (): void => {
      const changes = savedChanges(rows, saved, edits);
      if (changes.length > 0) mutate(changes.map((change) => ({ kind: 'price', ...change })));
    };
    latest.current = edits === saved ? undefined : save;
    if (edits === saved) return undefined;
    const timer = setTimeout(() => {
      save();
      setSaved(edits);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [rows, edits, saved, mutate]);
  // What was typed just before leaving the page is saved too.
  useEffect(() => () => latest.current?.(), []);
  const isWaiting = edits !== saved || isPending || isWrong(edits);
  // Before painting, so that nothing is called "Saved" that is not.
  useLayoutEffect(() => {
    onPending(isWaiting);
    return () => onPending(false);
  }, [isWaiting, onPending]);
  return { error };
}

interface ChangesProps {
  readonly count: number;
  readonly onUndo: (() => void) | undefined;
}

function Changes({ count, onUndo }: ChangesProps) {
  const { t } = useTranslation();
  if (count === 0 && !onUndo) return null;
  return (
    <div className="flex flex-wrap items-center gap-3">
      <p role="status" className="min-w-0 flex-1 basis-40 font-medium">
        {t('priceTable.changed', { count })}
      </p>
      <Button disabled={!onUndo} onClick={onUndo}>
        {t('priceTable.undo')}
      </Button>
    </div>
  );
}
