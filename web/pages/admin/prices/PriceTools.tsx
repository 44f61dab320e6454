import { useEffect, useMemo, useState } from 'react';
import type { PriceRow } from './rows.ts';
import { whenIdle } from '../../../lib/idle.ts';
import { formatCount } from '../../../lib/numbers.ts';
import { useCopy } from '../../../ui/Copy.tsx';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Dialog } from '../../../ui/Dialog.tsx';
import { Field, SelectField, TextField, Textarea } from '../../../ui/Field.tsx';
import { Form } from '../../../ui/Form.tsx';
import type { DraftEdit } from '../draft/draft.ts';
import { filledFromList, FILTERS, isInFilter, markedUp, type PriceEdits, type PriceFilter } from './edits.ts';
import { pasted, sheetOf, type PasteProblem } from './sheet.ts';

interface PriceToolsProps {
  readonly rows: readonly PriceRow[];
  readonly matching: readonly PriceRow[];
  readonly edits: PriceEdits;
  /** The values by which the filters decide: those from when the page was opened. */
  readonly first: PriceEdits;
  readonly list: string;
  readonly filter: PriceFilter;
  readonly search: string;
  readonly isBusy: boolean;
  /** Otherwise only looked through, and copied. */
  readonly canEdit: boolean;
  readonly onFilter: (filter: PriceFilter) => void;
  readonly onSearch: (text: string) => void;
  readonly onEdit: (edits: PriceEdits) => void;
  readonly onReplace: (edit: DraftEdit) => void;
}

const NOT_COUNTED: readonly PriceRow[] = [];

export function PriceTools(props: PriceToolsProps) {
  const { rows, matching, edits, first, filter, search, canEdit, onFilter, onSearch, onEdit } = props;
  const { t, i18n } = useTranslation();
  const [isPasting, setPasting] = useState(false);
  const { copied, copy } = useCopy();
  // Thousands of rows are looked through after the first of them are shown.
  const [counted, setCounted] = useState(NOT_COUNTED);
  useEffect(() => whenIdle(() => setCounted(rows)), [rows]);
  const isFillable = useMemo(() => filledFromList(first, counted).size > first.size, [first, counted]);
  const counts = useMemo(
    () => new Map(FILTERS.map((one) => [one, counted.filter((row) => isInFilter(row, first, one)).length])),
    [first, counted],
  );
  const countText = (one: PriceFilter): string => {
    const count = counts.get(one) ?? 0;
    const shown = one === 'changed' ? Math.max(edits.size, count) : count;
    return counted === NOT_COUNTED ? '' : ` (${formatCount(shown, i18n.language)})`;
  };
  return (
    <div className="flex flex-col gap-4 px-5 py-4">
      <div className="flex flex-wrap items-end gap-3">
        <TextField
          label={t('priceTable.search')}
          type="search"
          value={search}
          onChange={(event) => onSearch(event.target.value)}
          fieldClassName="w-full sm:w-56"
        />
        <SelectField
          label={t('priceTable.show')}
          value={filter}
          onChange={(event) => onFilter(FILTERS.find((one) => one === event.target.value) ?? 'all')}
          fieldClassName="w-full sm:w-60"
        >
          {FILTERS.map((one) => (
            <option key={one} value={one}>
              {t(`priceTable.filter.${one}`) + countText(one)}
            </option>
          ))}
        </SelectField>
        <div className="flex flex-wrap gap-3 sm:ml-auto">
          {canEdit ? <Button onClick={() => setPasting(true)}>{t('priceTable.paste')}</Button> : null}
          <Button onClick={() => copy(sheetOf(matching, edits))}>
            {copied ? t('common.copied') : t('priceTable.copy')}
          </Button>
        </div>
      </div>
      {canEdit ? (
        <div className="flex flex-wrap items-end gap-3">
          <ChangeAll {...props} />
          {isFillable ? (
            <Button
              className="sm:ml-auto"
              onClick={() => onEdit(filledFromList(edits, rows))}
              title={props.list}
            >
              {t('priceTable.fill')}
            </Button>
          ) : null}
        </div>
      ) : null}
      {isPasting ? (
        <PastePrices rows={rows} edits={edits} onEdit={onEdit} onClose={() => setPasting(false)} />
      ) : null}
    </div>
  );
}

const PERCENT = /^\d{1,4}(?:[.,]\d{1,4})?$/;

const WAYS = ['raise', 'lower', 'markup'] as const;

function ChangeAll({ matching, edits, isBusy, onEdit, onReplace }: PriceToolsProps) {
  const { t } = useTranslation();
  const [percent, setPercent] = useState('10');
  const [way, setWay] = useState<(typeof WAYS)[number]>('raise');
  const amount = Number(percent.trim().replace(',', '.'));
  const isWrong = !PERCENT.test(percent.trim()) || (way === 'lower' && amount >= 100);
  const meant = matching.filter((row) => !row.isRemoved && (way === 'markup' || !row.free));
  const apply = (): void => {
    if (isWrong) return;
    if (way === 'markup') return onEdit(markedUp(edits, meant, amount));
    const factor = (100 + (way === 'raise' ? amount : -amount)) / 100;
    onReplace({
      kind: 'scale_prices',
      models: meant.map(({ list, model }) => ({ list, model })),
      factor: factor.toFixed(6),
    });
  };
  return (
    <Form className="flex flex-wrap items-end gap-3" onSubmit={apply}>
      <SelectField
        label={t('priceTable.change')}
        value={way}
        onChange={(event) => setWay(WAYS.find((one) => one === event.target.value) ?? 'raise')}
        fieldClassName="w-44"
      >
        {WAYS.map((one) => (
          <option key={one} value={one}>
            {t(`priceTable.way.${one}`)}
          </option>
        ))}
      </SelectField>
      <TextField
        label={t('priceTable.percent')}
        error={isWrong ? t('import.badMarkup') : undefined}
        inputMode="decimal"
        value={percent}
        onChange={(event) => setPercent(event.target.value)}
        fieldClassName="w-24"
      />
      <Button type="submit" busy={isBusy} disabled={meant.length === 0}>
        {t('priceTable.applyTo', { count: meant.length })}
      </Button>
    </Form>
  );
}

type PastePricesProps = Pick<PriceToolsProps, 'rows' | 'edits' | 'onEdit'> & { readonly onClose: () => void };

const MOST_CHARACTERS = 1_000_000;

function PastePrices({ rows, edits, onEdit, onClose }: PastePricesProps) {
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const [problems, setProblems] = useState<readonly PasteProblem[]>([]);
  const take = (): void => {
    const found = pasted(edits, rows, text);
    setProblems(found.problems);
    if (found.problems.length > 0) return;
    onEdit(found.edits);
    onClose();
  };
  return (
    <Dialog open title={t('priceTable.paste')} onClose={onClose}>
      <Form className="flex flex-col gap-4" onSubmit={take}>
        <Field label={t('priceTable.pasteText')} hint={t('priceTable.pasteLead')}>
          {(ids) => (
            <Textarea
              {...ids}
              rows={8}
              data-autofocus
              maxLength={MOST_CHARACTERS}
              className="font-mono text-sm"
              placeholder={'gpt-5-mini, 0.30, 2.40'}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        {problems.length > 0 ? (
          <ul role="alert" className="text-sm text-bad">
            {problems.slice(0, MOST_TOLD).map((problem) => (
              <li key={problem.line}>
                {problem.kind === 'bad'
                  ? t('priceTable.badLine', { line: problem.line })
                  : t('priceTable.unknownLine', { line: problem.line, model: problem.model })}
              </li>
            ))}
          </ul>
        ) : null}
        <Button type="submit" kind="primary" className="self-start" disabled={text.trim() === ''}>
          {t('priceTable.take')}
        </Button>
      </Form>
    </Dialog>
  );
}

const MOST_TOLD = 10;
