import { useState } from 'react';
import type { AdminPriceRow } from '../../../../lib/answers.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { Button } from '../../../../ui/Button.tsx';
import { Dialog } from '../../../../ui/Dialog.tsx';
import { Field, TextField, Textarea } from '../../../../ui/Field.tsx';
import { Form } from '../../../../ui/Form.tsx';
import { markedUp, pasted, type PasteProblem, type PriceEdits } from './edits.ts';

interface PriceToolsProps {
  readonly rows: readonly AdminPriceRow[];
  readonly matching: readonly AdminPriceRow[];
  readonly edits: PriceEdits;
  readonly search: string;
  readonly onSearch: (text: string) => void;
  readonly onEdit: (edits: PriceEdits) => void;
}

export function PriceTools({ rows, matching, edits, search, onSearch, onEdit }: PriceToolsProps) {
  const { t } = useTranslation();
  const [isPasting, setPasting] = useState(false);
  return (
    <div className="flex flex-col gap-4 px-5 py-4">
      <p className="text-ink-3">{t('priceTable.lead')}</p>
      <div className="flex flex-wrap items-end gap-4">
        <TextField
          label={t('priceTable.search')}
          type="search"
          value={search}
          onChange={(event) => onSearch(event.target.value)}
          fieldClassName="w-full sm:w-72"
        />
        {rows.some(({ cost }) => cost) ? <Markup matching={matching} edits={edits} onEdit={onEdit} /> : null}
        <Button className="sm:ml-auto" onClick={() => setPasting(true)}>
          {t('priceTable.paste')}
        </Button>
      </div>
      {isPasting ? (
        <PastePrices rows={rows} edits={edits} onEdit={onEdit} onClose={() => setPasting(false)} />
      ) : null}
    </div>
  );
}

const PERCENT = /^\d{1,4}(?:[.,]\d{1,4})?$/;

function Markup({ matching, edits, onEdit }: Pick<PriceToolsProps, 'matching' | 'edits' | 'onEdit'>) {
  const { t } = useTranslation();
  const [percent, setPercent] = useState('20');
  const costed = matching.filter(({ cost }) => cost);
  const isWrong = !PERCENT.test(percent.trim());
  return (
    <Form
      className="flex flex-wrap items-end gap-3"
      onSubmit={() => {
        if (!isWrong) onEdit(markedUp(edits, costed, Number(percent.trim().replace(',', '.'))));
      }}
    >
      <TextField
        label={t('priceTable.markup')}
        error={isWrong ? t('import.badMarkup') : undefined}
        inputMode="decimal"
        value={percent}
        onChange={(event) => setPercent(event.target.value)}
        fieldClassName="w-44"
      />
      <Button type="submit" disabled={costed.length === 0}>
        {t('priceTable.applyMarkup', { count: costed.length })}
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
