import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { AdminPriceDraft, AdminPriceRow } from '../../../../../src/console/contract.ts';
import { useAction } from '../../../../lib/action.ts';
import { call, useApi } from '../../../../lib/api.ts';
import { Button } from '../../../../ui/Button.tsx';
import { Card } from '../../../../ui/Card.tsx';
import { Empty, FormError, Loaded, SkeletonRows } from '../../../../ui/States.tsx';
import { PublishDraft } from '../PublishDraft.tsx';
import { changesOf, NO_EDITS, type PriceEdits } from './edits.ts';
import { PriceRows } from './PriceRows.tsx';
import { PriceTools } from './PriceTools.tsx';

interface PriceTableProps {
  /** The draft differs from what is published. */
  readonly hasUnsaved: boolean;
  readonly onPublished: (yaml: string) => void;
}

/** Prices edited in place. What was changed is published as one version of the catalog. */
export function PriceTable({ hasUnsaved, onPublished }: PriceTableProps) {
  const { t } = useTranslation();
  const prices = useApi('GET /api/console/admin/prices');
  if (hasUnsaved)
    return (
      <p role="alert" className="rounded-md border border-warn-line bg-warn-soft px-4 py-3 text-warn">
        {t('priceTable.unsaved')}
      </p>
    );
  return (
    <Loaded query={prices} skeleton={<SkeletonRows rows={8} />}>
      {({ items }) =>
        items.length === 0 ? (
          <Card>
            <Empty title={t('priceTable.empty')} />
          </Card>
        ) : (
          <EditedPrices rows={items} onPublished={onPublished} />
        )
      }
    </Loaded>
  );
}

/** The newest last; each can be undone. Typing in one field is one step. */
interface EditStep {
  readonly edits: PriceEdits;
  readonly field: string | undefined;
}

const MOST_STEPS = 200;

interface EditedPricesProps extends Pick<PriceTableProps, 'onPublished'> {
  readonly rows: readonly AdminPriceRow[];
}

function EditedPrices({ rows, onPublished }: EditedPricesProps) {
  const [history, setHistory] = useState<readonly EditStep[]>([]);
  const [draft, setDraft] = useState<AdminPriceDraft>();
  const [text, setText] = useState('');
  const { edits, field: lastField } = history.at(-1) ?? { edits: NO_EDITS, field: undefined };
  const wanted = text.trim().toLowerCase();
  const matching = rows.filter(({ model, name, list }) =>
    `${model} ${name} ${list}`.toLowerCase().includes(wanted),
  );
  const go = (next: readonly EditStep[]): void => {
    setHistory(next.slice(-MOST_STEPS));
    setDraft(undefined);
  };
  const edit = (next: PriceEdits, field?: string): void => {
    const isSameField = field !== undefined && field === lastField;
    go([...(isSameField ? history.slice(0, -1) : history), { edits: next, field }]);
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
      <Changes
        edits={edits}
        onUndo={() => go(history.slice(0, -1))}
        onDiscard={() => go([])}
        onDraft={setDraft}
      />
      {draft ? (
        <PublishDraft
          key={draft.yaml}
          {...draft}
          onPublished={() => {
            go([]);
            onPublished(draft.yaml);
          }}
        />
      ) : null}
    </div>
  );
}

interface ChangesProps {
  readonly edits: PriceEdits;
  readonly onUndo: () => void;
  readonly onDiscard: () => void;
  readonly onDraft: (draft: AdminPriceDraft) => void;
}

function Changes({ edits, onUndo, onDiscard, onDraft }: ChangesProps) {
  const { t } = useTranslation();
  const changes = changesOf(edits);
  const make = useAction(
    async () => await call('POST /api/console/admin/prices/draft', { body: { changes: changes ?? [] } }),
    { onDone: onDraft },
  );
  if (edits.size === 0) return null;
  return (
    <div className="sticky bottom-4 z-10 flex flex-wrap items-center gap-3 rounded-lg border border-line bg-surface px-5 py-3 shadow-md">
      <p role="status" className="min-w-0 flex-1 basis-40 font-medium">
        {t('priceTable.changed', { count: edits.size })}
      </p>
      <FormError error={make.error} />
      <Button onClick={onUndo}>{t('priceTable.undo')}</Button>
      <Button onClick={onDiscard}>{t('priceTable.discard')}</Button>
      <Button
        kind="primary"
        busy={make.isPending}
        disabled={changes === undefined}
        onClick={() => make.mutate()}
      >
        {t('priceTable.review')}
      </Button>
    </div>
  );
}
