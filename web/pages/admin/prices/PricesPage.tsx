import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { priceRow, type PriceRow } from './rows.ts';
import { useAction } from '../../../lib/action.ts';
import { call, useApi } from '../../../lib/api.ts';
import { oneOf, useSearchState } from '../../../lib/search.ts';
import { useUser } from '../../../lib/session.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Card, Page } from '../../../ui/Card.tsx';
import { Empty, FormError, Loaded, SkeletonRows } from '../../../ui/States.tsx';
import { READS_OF_DRAFT, replaceDraft, useDraft, useDraftEdit, type DraftEdit } from '../draft/draft.ts';
import { DraftBar } from '../draft/DraftBar.tsx';
import { PlannedChange } from '../draft/PlannedChange.tsx';
import {
  draftedEdits,
  FILTERS,
  isInFilter,
  isWrong,
  savedChanges,
  withEdit,
  type PriceEdits,
  type PriceField,
} from './edits.ts';
import { PriceRows } from './PriceRows.tsx';
import { PriceTools } from './PriceTools.tsx';

/** All that is sold: what it costs, what it brings, what it can do. Everything is edited in the draft. */
export default function PricesPage() {
  const { t } = useTranslation();
  const prices = useApi('GET /api/console/admin/prices');
  const rows = useMemo(() => prices.data?.items.map(priceRow) ?? [], [prices.data]);
  const { data: drafted } = useDraft();
  const mayEdit = useUser().rights.includes('change_catalog');
  // Changes when the draft became another one; the table then starts over without what was typed.
  const [generation, setGeneration] = useState(0);
  const [isPending, setPending] = useState(false);
  const [undo, setUndo] = useState<WholeDraft>();
  const begin = (before?: WholeDraft): void => {
    setUndo(before);
    setGeneration((count) => count + 1);
  };
  const back = useAction(putBack, { refresh: READS_OF_DRAFT, onDone: () => begin() });
  return (
    <Page wide title={t('priceTable.title')} lead={t('priceTable.lead')}>
      <PlannedChange />
      <Loaded query={prices} skeleton={<SkeletonRows rows={8} />}>
        {({ list, groups, editable }) =>
          rows.length === 0 ? (
            <Card>
              <Empty title={t('priceTable.empty')} />
            </Card>
          ) : (
            <EditedPrices
              key={generation}
              rows={rows}
              groups={groups}
              canEdit={editable && mayEdit}
              list={list}
              draft={{ yaml: drafted?.draft?.yaml }}
              onReplaced={begin}
              onPending={setPending}
              onUndo={undo && (() => back.mutate(undo))}
            />
          )
        }
      </Loaded>
      <FormError error={back.error} />
      <DraftBar isPending={isPending} onGone={() => begin()} />
    </Page>
  );
}

/** `yaml` is undefined if there was no draft. */
interface WholeDraft {
  readonly yaml: string | undefined;
}

async function putBack({ yaml }: WholeDraft): Promise<unknown> {
  if (yaml !== undefined) return await replaceDraft(yaml);
  return await call('POST /api/console/admin/catalog/draft/discard', { body: {} });
}

/** An edit that can be undone; typing in one field is one step. */
interface EditStep {
  readonly edits: PriceEdits;
  readonly field: string | undefined;
}

const MOST_STEPS = 200;

const TYPING_MS = 600;

interface EditedPricesProps {
  readonly rows: readonly PriceRow[];
  readonly groups: readonly string[];
  readonly canEdit: boolean;
  readonly list: string;
  readonly draft: WholeDraft;
  /** The server has changed the draft as a whole; it was `before`. */
  readonly onReplaced: (before: WholeDraft) => void;
  /** Something typed is not in the draft yet, or is not an amount. */
  readonly onPending: (isPending: boolean) => void;
  readonly onUndo: (() => void) | undefined;
}

function EditedPrices({ rows, list, draft, onReplaced, onPending, onUndo, ...shown }: EditedPricesProps) {
  const [first] = useState(() => draftedEdits(rows));
  const [history, setHistory] = useState<readonly EditStep[]>([]);
  const [{ q = '', show }, change] = useSearchState();
  const edits = history.at(-1)?.edits ?? first;
  const { error, changes } = useSavedEdits(rows, edits, { first, onPending });
  const whole = useDraftEdit(() => onReplaced(draft));
  const wanted = q.trim().toLowerCase();
  const filter = oneOf(show, FILTERS);
  // A row that is being edited stays in sight, even if it no longer matches the filter.
  const matching =
    wanted === '' && filter === 'all'
      ? rows
      : rows.filter(
          (row) =>
            `${row.model} ${row.name} ${row.list} ${row.backends.map(({ name }) => name).join(' ')}`
              .toLowerCase()
              .includes(wanted) && isInFilter(row, filter === 'changed' ? edits : first, filter),
        );
  const editAll = (next: PriceEdits): void =>
    setHistory((steps) => [...steps, { edits: next, field: undefined }].slice(-MOST_STEPS));
  const editOne = useCallback(
    (row: PriceRow, field: PriceField, text: string) =>
      setHistory((steps) => {
        const step = steps.at(-1);
        const name = `${row.list}\n${row.model}\n${field}`;
        const next = withEdit(step?.edits ?? first, row, { [field]: text });
        return [...(step?.field === name ? steps.slice(0, -1) : steps), { edits: next, field: name }].slice(
          -MOST_STEPS,
        );
      }),
    [first],
  );
  // Together with what is typed and not saved yet, so that nothing of it is lost.
  const replace = (edit: DraftEdit): void => whole.mutate([...changes, edit]);
  return (
    <div className="flex flex-col gap-5">
      <Card flush>
        <PriceTools
          rows={rows}
          matching={matching}
          edits={edits}
          first={first}
          list={list}
          canEdit={shown.canEdit}
          filter={filter}
          search={q}
          isBusy={whole.isPending}
          onFilter={(next) => change({ show: next === 'all' ? undefined : next })}
          onSearch={(text) => change({ q: text }, { isTyping: true })}
          onEdit={editAll}
          onReplace={replace}
        />
        <PriceRows
          rows={matching}
          list={`${wanted} ${filter}`}
          {...shown}
          edits={edits}
          onEdit={editOne}
          onReplace={replace}
        />
      </Card>
      <FormError error={error ?? whole.error} />
      <Changes
        count={edits.size}
        onUndo={history.length === 0 ? onUndo : () => setHistory(history.slice(0, -1))}
      />
    </div>
  );
}

/** Saves values to the draft a moment after they were typed; anything else is left out. */
function useSavedEdits(
  rows: readonly PriceRow[],
  edits: PriceEdits,
  { first, onPending }: { readonly first: PriceEdits } & Pick<EditedPricesProps, 'onPending'>,
) {
  const { mutate, error, isPending } = useDraftEdit();
  const [saved, setSaved] = useState(first);
  const latest = useRef<() => void>(undefined);
  useEffect(() => {
    const save = (): void => {
      const changes = savedChanges(rows, saved, edits);
      if (changes.length > 0) mutate(changes);
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
  return { error, changes: edits === saved ? [] : savedChanges(rows, saved, edits) };
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
