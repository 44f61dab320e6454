import type { TFunction } from 'i18next';
import { useState } from 'react';
import type { AdminBackendDetail } from '../../../../lib/answers.ts';
import { hrefWith } from '../../../../lib/search.ts';
import { useShownRows } from '../../../../lib/pages.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { Badge } from '../../../../ui/Badge.tsx';
import { Button, LinkButton } from '../../../../ui/Button.tsx';
import { Card } from '../../../../ui/Card.tsx';
import { Input } from '../../../../ui/Field.tsx';
import { Changeable } from '../../../../ui/Form.tsx';
import { Price } from '../../../../ui/Money.tsx';
import { Nothing } from '../../../../ui/Numbers.tsx';
import { ShowMore } from '../../../../ui/Pager.tsx';
import { FormError } from '../../../../ui/States.tsx';
import { Table, type Column } from '../../../../ui/Table.tsx';
import { amountOf } from '../../prices/edits.ts';
import { useDraftEdit, type DraftEdit } from '../../draft/draft.ts';
import { AddModel } from './AddModel.tsx';

type AdminBackendModel = AdminBackendDetail['models'][number];

/** The models that customers get from this backend, with their prices. */
export function BackendModels({ backend }: { backend: AdminBackendDetail }) {
  const { t } = useTranslation();
  const edit = useDraftEdit();
  const { rows, ...more } = useShownRows(backend.models, '');
  const isImportable = backend.origin !== null;
  return (
    <Card
      flush
      title={t('backendEdit.models')}
      hint={t('backendEdit.modelsHint')}
      actions={
        isImportable ? (
          <LinkButton href={hrefWith('/admin/catalog', { view: 'import', provider: backend.name })}>
            {t('backendEdit.import')}
          </LinkButton>
        ) : null
      }
    >
      {rows.length === 0 ? (
        <p className="px-5 pb-4 text-ink-3">{t('backendEdit.noModels')}</p>
      ) : (
        <Table
          label={t('backendEdit.models')}
          rows={rows}
          rowKey={({ list, model }) => `${list}\n${model}`}
          columns={columns(t, { isBuiltIn: !isImportable, onEdit: (one) => edit.mutate([one]) })}
        />
      )}
      <ShowMore {...more} />
      <div className="px-5 pb-4">
        <FormError error={edit.error} />
        <Changeable right="change_catalog" otherwise={null}>
          <AddModel backend={backend} />
        </Changeable>
      </div>
    </Card>
  );
}

interface ColumnParts {
  /** It takes nothing. */
  readonly isBuiltIn: boolean;
  readonly onEdit: (edit: DraftEdit) => void;
}

function columns(t: TFunction, { isBuiltIn, onEdit }: ColumnParts): Column<AdminBackendModel>[] {
  const side = (id: 'input' | 'output', header: string): Column<AdminBackendModel> => ({
    id,
    header,
    align: 'right',
    cell: ({ list, model, price, isFree }) => {
      if (isFree) return <Badge>{t('backendEdit.free')}</Badge>;
      if (!price) return <Nothing />;
      const label = t(`priceTable.of.${id}`, { model });
      return (
        <AmountField
          label={label}
          value={price[id]}
          onChange={(amount) => onEdit({ kind: 'set_model', list, model, [id]: amount })}
        />
      );
    },
  });
  return [
    {
      id: 'model',
      header: t('models.model'),
      card: 'title',
      cell: ({ name, list, model }) => (
        <span className="block min-w-0">
          {name}
          <code className="block text-xs break-all text-ink-3">
            {list} / {model}
          </code>
        </span>
      ),
    },
    {
      id: 'cost',
      header: t('priceTable.cost'),
      align: 'right',
      cell: ({ cost }) =>
        cost ? (
          <span className="whitespace-nowrap">
            <Price usd={cost.input} /> / <Price usd={cost.output} />
          </span>
        ) : isBuiltIn ? (
          <Nothing />
        ) : (
          <span className="text-ink-3">{t('priceTable.unknown')}</span>
        ),
    },
    side('input', t('backendEdit.input')),
    side('output', t('backendEdit.output')),
    {
      id: 'remove',
      header: <span className="sr-only">{t('backendEdit.remove')}</span>,
      align: 'right',
      card: 'aside',
      cell: ({ list, model }) => (
        <Button
          small
          kind="ghost"
          aria-label={t('backendEdit.removeModelOf', { model })}
          onClick={() => onEdit({ kind: 'remove_model', list, model })}
        >
          {t('backendEdit.remove')}
        </Button>
      ),
    },
  ];
}

interface AmountFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (amount: string) => void;
}

/** Saved to the draft when the field loses focus. */
function AmountField({ label, value, onChange }: AmountFieldProps) {
  const { t } = useTranslation();
  const [typed, setTyped] = useState<string>();
  const amount = amountOf(typed ?? value);
  const save = (): void => {
    if (typed === undefined || amount === undefined) return;
    setTyped(undefined);
    if (Number(amount) !== Number(value)) onChange(amount);
  };
  return (
    <span className="inline-block w-28 max-w-full">
      <Input
        aria-label={label}
        aria-invalid={amount === undefined || undefined}
        title={amount === undefined ? t('priceTable.badAmount') : undefined}
        inputMode="decimal"
        className="text-right tabular-nums"
        value={typed ?? value}
        onChange={(event) => setTyped(event.target.value)}
        onBlur={save}
        onKeyDown={(event) => {
          if (event.key === 'Enter') save();
        }}
      />
    </span>
  );
}
