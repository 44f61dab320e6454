import type { TFunction } from 'i18next';
import { useState } from 'react';
import type { Answer, ItemOf } from '../../../../src/console/contract/routes.ts';
import { useApi } from '../../../lib/api.ts';
import { usePages } from '../../../lib/pages.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Card } from '../../../ui/Card.tsx';
import { Code } from '../../../ui/Code.tsx';
import { Dialog } from '../../../ui/Dialog.tsx';
import { Changeable } from '../../../ui/Form.tsx';
import { Nothing } from '../../../ui/Numbers.tsx';
import { Pager } from '../../../ui/Pager.tsx';
import { Empty, ErrorState, Loaded, Skeleton, SkeletonRows } from '../../../ui/States.tsx';
import { Table, type Column } from '../../../ui/Table.tsx';
import { Time } from '../../../ui/Time.tsx';
import { changedName, changeText } from './changeText.ts';
import { aspectName, Changes } from './PublishDraft.tsx';

type AdminCatalogVersion = ItemOf<'GET /api/console/admin/catalog/history'>;

interface CatalogHistoryProps {
  readonly onRestore: (version: Answer<'GET /api/console/admin/catalog/history/{id}'>) => void;
}

export function CatalogHistory({ onRestore }: CatalogHistoryProps) {
  const { t } = useTranslation();
  const pages = usePages('GET /api/console/admin/catalog/history');
  const [open, setOpen] = useState<AdminCatalogVersion>();
  if (pages.error && !pages.data)
    return <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />;
  if (!pages.data) return <SkeletonRows />;
  const rows = pages.data.pages.flatMap((page) => page.items);
  return (
    <Card flush>
      {rows.length === 0 ? (
        <Empty title={t('catalog.noHistory')} />
      ) : (
        <Table
          label={t('catalog.history')}
          rows={rows}
          rowKey={(row) => row.revision}
          rowLabel={(row) => t('catalog.revision', { revision: row.revision })}
          onOpen={setOpen}
          columns={versionColumns(t)}
        />
      )}
      <Pager pages={pages} />
      {open ? <Version version={open} onClose={() => setOpen(undefined)} onRestore={onRestore} /> : null}
    </Card>
  );
}

function Version({
  version,
  onClose,
  onRestore,
}: CatalogHistoryProps & { version: AdminCatalogVersion; onClose: () => void }) {
  const { t } = useTranslation();
  const detail = useApi('GET /api/console/admin/catalog/history/{id}', {
    params: { id: String(version.revision) },
  });
  return (
    <Dialog
      open
      kind="wide"
      title={`${t('catalog.revision', { revision: version.revision })} ${t('catalog.by', { actor: version.actor })}`}
      onClose={onClose}
      footer={
        detail.data ? (
          <Changeable right="change_catalog">
            <Button kind="primary" onClick={() => detail.data && onRestore(detail.data)}>
              {t('catalog.restore')}
            </Button>
          </Changeable>
        ) : null
      }
    >
      <Loaded query={detail} skeleton={<Skeleton className="h-80 w-full" />}>
        {(data) => (
          <>
            <p className="mb-3 text-sm text-ink-3">
              <Time at={data.at} style="full" />
              {data.note === '' ? null : ` · ${data.note}`}
            </p>
            {data.changes === null ? (
              <p className="text-ink-3">{t('catalog.notCompared')}</p>
            ) : data.changes.length === 0 ? (
              <p className="text-ink-3">{t('catalog.noChanges')}</p>
            ) : (
              <Changes changes={data.changes} />
            )}
            {data.moreChanges > 0 ? (
              <p className="mt-2 text-sm text-ink-3">{t('common.notShown', { count: data.moreChanges })}</p>
            ) : null}
            <details className="mt-4">
              <summary className="cursor-pointer text-sm font-medium text-ink-2">{t('catalog.yaml')}</summary>
              <div className="mt-3">
                <Code label={t('catalog.yaml')} code={data.yaml} />
              </div>
            </details>
          </>
        )}
      </Loaded>
    </Dialog>
  );
}

const MOST_SENTENCES = 4;

/** The changes of a version in a few sentences, below its note. */
function Summary({ version: { note, changes } }: { version: AdminCatalogVersion }) {
  const { t } = useTranslation();
  const more = (changes?.length ?? 0) - MOST_SENTENCES;
  return (
    <div className="flex max-w-prose min-w-0 flex-col gap-0.5 break-words">
      {note === '' ? null : <span className="font-medium">{note}</span>}
      {changes?.slice(0, MOST_SENTENCES).map((group) => (
        <span key={`${group.kind} ${group.thing} ${group.aspect}`}>{sayGroup(group, t)}</span>
      ))}
      {more > 0 ? <span className="text-ink-3">{t('catalog.moreChanges', { count: more })}</span> : null}
      {changes?.length === 0 && note === '' ? (
        <span className="text-ink-3">{t('catalog.noChanges')}</span>
      ) : null}
      {changes === null && note === '' ? <Nothing /> : null}
    </div>
  );
}

type ChangeGroup = NonNullable<AdminCatalogVersion['changes']>[number];

/** Values of these are short hints of secrets, which say nothing in a sentence. */
const SECRET_ASPECTS: ReadonlySet<string> = new Set(['key', 'headers', 'options']);

function sayGroup(group: ChangeGroup, t: TFunction): string {
  const { kind, thing, aspect, count, before, after } = group;
  const names = group.names.map((name) => changedName({ thing, name }, t));
  const rest = count - names.length;
  const listed = names.filter((name) => name !== '').join(', ');
  const all = rest > 0 ? t('catalog.andMore', { names: listed, count: rest }) : listed;
  const things = t(`catalog.things.${thing}`, { count });
  if (kind !== 'changed' || aspect === null)
    return t(kind === 'removed' ? 'catalog.saidRemoved' : 'catalog.saidAdded', { things, names: all });
  const name = listed === '' ? t(`catalog.thing.${thing}`) : all;
  const what = aspectName(aspect, t);
  if (aspect === 'paused')
    return t(after === 'yes' ? 'catalog.saidPaused' : 'catalog.saidResumed', { things, names: all });
  const said = (text: string): string => changeText(group, text, t);
  const isTold = before !== null && after !== null && !SECRET_ASPECTS.has(aspect);
  if (count > 1) {
    const values = { aspect: what, things, names: all };
    return isTold
      ? t('catalog.saidChangedManyFrom', { ...values, ...fromTo(said(before), said(after)) })
      : t('catalog.saidChangedMany', values);
  }
  return isTold
    ? t('catalog.saidChangedFrom', { aspect: what, name, ...fromTo(said(before), said(after)) })
    : t('catalog.saidChanged', { aspect: what, name });
}

/** A unit that both values end with is said once: `1.00 in (USD per million tokens)`. */
function fromTo(before: string, after: string): { readonly before: string; readonly after: string } {
  const [unit = ''] = / \([^()]*\)$/.exec(after) ?? [];
  return { before: unit !== '' && before.endsWith(unit) ? before.slice(0, -unit.length) : before, after };
}

function versionColumns(t: TFunction): Column<AdminCatalogVersion>[] {
  return [
    { id: 'revision', header: '#', cell: (row) => row.revision },
    {
      id: 'changes',
      header: t('catalog.whatChanged'),
      card: 'title',
      cell: (row) => <Summary version={row} />,
    },
    { id: 'actor', header: t('codes.createdBy'), cell: (row) => row.actor },
    {
      id: 'at',
      header: t('requests.time'),
      align: 'right',
      cell: (row) => <Time at={row.at} style="full" />,
    },
  ];
}
