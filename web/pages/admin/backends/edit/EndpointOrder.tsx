import { useEffect, useRef, useState, type DragEvent } from 'react';
import ArrowDown from 'lucide-react/icons/arrow-down';
import ArrowUp from 'lucide-react/icons/arrow-up';
import GripVertical from 'lucide-react/icons/grip-vertical';
import X from 'lucide-react/icons/x';
import type { AdminBackendDetail } from '../../../../lib/answers.ts';
import { classes } from '../../../../lib/classes.ts';
import { formatPercent } from '../../../../lib/numbers.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { Badge } from '../../../../ui/Badge.tsx';
import { IconButton } from '../../../../ui/Button.tsx';
import { Check, Input } from '../../../../ui/Field.tsx';
import { useShownOnly } from '../../../../ui/Form.tsx';
import { FormError } from '../../../../ui/States.tsx';
import { useDraftEdit } from '../../draft/draft.ts';
import {
  hasAdjacentGroups,
  isShared,
  isWeight,
  movedRow,
  orderRows,
  placesOfRows,
  shareOf,
  withoutRow,
  withRow,
  type OrderRow,
} from './order.ts';

type AdminBackendEndpoint = AdminBackendDetail['endpoints'][number];

/** Long enough for typing a weight to be one change. */
const TYPING_MS = 500;

export function EndpointOrder({ endpoint }: { endpoint: AdminBackendEndpoint }) {
  const { t } = useTranslation();
  const { rows, setRows, error } = useOrder(endpoint);
  const moved = useRef<string>(undefined);
  const list = useRef<HTMLOListElement>(null);
  // Focus follows the pressed button to the new place of its row.
  useEffect(() => {
    if (moved.current === undefined) return;
    list.current?.querySelector<HTMLElement>(`[data-move="${CSS.escape(moved.current)}"]`)?.focus();
    moved.current = undefined;
  }, [rows]);
  const move = (from: number, to: number, button?: string): void => {
    if (to < 0 || to >= rows.length || from === to) return;
    moved.current = button;
    setRows(movedRow(rows, from, to));
  };
  const drag = useDrag(move);
  const isShownOnly = useShownOnly();
  return (
    <section aria-label={t('backendEdit.orderOf', { name: endpoint.name })}>
      <h3 className="mb-2 flex flex-wrap items-center gap-2 font-medium">
        {endpoint.name} <Badge mono>{endpoint.code}</Badge>
      </h3>
      {endpoint.sortsByPrice ? <p className="mb-2 text-sm text-warn">{t('backendEdit.byPrice')}</p> : null}
      <ol ref={list} className="overflow-hidden rounded-md border border-line">
        {rows.map((row, index) => (
          <li
            key={row.upstream}
            {...(isShownOnly ? {} : drag.itemProps(index))}
            className={classes(
              'flex flex-wrap items-center gap-x-3 gap-y-2 px-3 py-2',
              index > 0 && (row.isJoined ? 'border-t border-dashed border-line' : 'border-t border-line'),
              drag.isDragged(index) && 'opacity-50',
              drag.isTarget(index) && 'bg-accent-soft',
            )}
          >
            <Row
              row={row}
              index={index}
              rows={rows}
              onChange={(change, isTyped) => setRows(withRow(rows, index, change), isTyped)}
              onMove={(to, button) => move(index, to, button)}
              onRemove={() => setRows(withoutRow(rows, index))}
            />
          </li>
        ))}
      </ol>
      {hasAdjacentGroups(rows) ? (
        <p role="alert" className="mt-2 text-sm text-bad">
          {t('backendEdit.adjacent')}
        </p>
      ) : null}
      <FormError error={error} />
    </section>
  );
}

function useDrag(onMove: (from: number, to: number) => void) {
  const [dragged, setDragged] = useState<number>();
  const [over, setOver] = useState<number>();
  const end = (): void => {
    setDragged(undefined);
    setOver(undefined);
  };
  return {
    isDragged: (index: number) => dragged === index,
    isTarget: (index: number) => dragged !== undefined && over === index && dragged !== index,
    itemProps: (index: number) => ({
      draggable: true,
      onDragStart: (event: DragEvent) => {
        event.dataTransfer.effectAllowed = 'move';
        setDragged(index);
      },
      onDragOver: (event: DragEvent) => {
        // Only a row of this list can be dropped on it.
        if (dragged === undefined) return;
        event.preventDefault();
        setOver(index);
      },
      onDragEnd: end,
      onDrop: (event: DragEvent) => {
        event.preventDefault();
        if (dragged !== undefined) onMove(dragged, index);
        end();
      },
    }),
  };
}

/** The rows as they are typed; valid ones are saved to the draft. */
function useOrder({ code, places }: AdminBackendEndpoint) {
  const [rows, setShown] = useState(() => orderRows(places));
  const edit = useDraftEdit();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const known = JSON.stringify(places);
  const [seen, setSeen] = useState(known);
  if (known !== seen) {
    setSeen(known);
    // The order was changed elsewhere, for example by discarding the draft.
    if (!edit.isPending && known !== JSON.stringify(placesOfRows(rows))) setShown(orderRows(places));
  }
  const setRows = (next: OrderRow[], isTyped = false): void => {
    setShown(next);
    clearTimeout(timer.current);
    const made = hasAdjacentGroups(next) ? undefined : placesOfRows(next);
    if (!made) return;
    const save = (): void => edit.mutate([{ kind: 'places', endpoint: code, places: made }]);
    if (isTyped) timer.current = setTimeout(save, TYPING_MS);
    else save();
  };
  return { rows, setRows, error: edit.error };
}

interface RowProps {
  readonly row: OrderRow;
  readonly index: number;
  readonly rows: readonly OrderRow[];
  readonly onChange: (change: Partial<OrderRow>, isTyped: boolean) => void;
  readonly onMove: (to: number, button: string) => void;
  readonly onRemove: () => void;
}

function Row({ row, index, rows, onChange, onMove, onRemove }: RowProps) {
  const { t, i18n } = useTranslation();
  const { upstream } = row;
  const isShownOnly = useShownOnly();
  const share = shareOf(rows, index);
  const move = (by: number) => {
    const button = `${upstream} ${by}`;
    return {
      'data-move': button,
      // Not `disabled`: at the end of the list, the button would lose the keyboard focus.
      'aria-disabled': rows[index + by] === undefined,
      className: rows[index + by] === undefined ? 'opacity-45' : '',
      onClick: () => onMove(index + by, button),
    };
  };
  return (
    <>
      {isShownOnly ? null : (
        <GripVertical size={15} aria-hidden className="shrink-0 cursor-grab text-ink-3" />
      )}
      <code className="min-w-0 flex-1 basis-32 text-sm font-medium break-all">{upstream}</code>
      {index > 0 ? (
        <Check
          label={t('backendEdit.shares')}
          className="text-sm"
          checked={row.isJoined}
          onChange={(event) => onChange({ isJoined: event.target.checked }, false)}
        />
      ) : null}
      {isShared(rows, index) ? (
        <span className="flex items-center gap-2">
          <span className="w-20">
            <Input
              aria-label={t('backendEdit.weightOf', { name: upstream })}
              aria-invalid={isWeight(row.weight) ? undefined : true}
              title={isWeight(row.weight) ? undefined : t('backendEdit.badWeight')}
              inputMode="numeric"
              className="text-right tabular-nums"
              value={row.weight}
              onChange={(event) => onChange({ weight: event.target.value }, true)}
            />
          </span>
          <span className="w-14 text-right text-sm text-ink-3 tabular-nums">
            {share === undefined ? '–' : formatPercent(share, i18n.language)}
          </span>
        </span>
      ) : null}
      <span className="flex shrink-0">
        <IconButton label={t('backendEdit.moveUp', { name: upstream })} {...move(-1)}>
          <ArrowUp size={16} aria-hidden />
        </IconButton>
        <IconButton label={t('backendEdit.moveDown', { name: upstream })} {...move(1)}>
          <ArrowDown size={16} aria-hidden />
        </IconButton>
        <IconButton
          label={
            rows.length === 1
              ? t('backendEdit.lastBackend')
              : t('backendEdit.removeFromEndpoint', { name: upstream })
          }
          disabled={rows.length === 1}
          onClick={onRemove}
        >
          <X size={16} aria-hidden />
        </IconButton>
      </span>
    </>
  );
}
