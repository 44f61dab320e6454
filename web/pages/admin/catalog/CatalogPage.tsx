import { useState } from 'react';
import type { AdminCatalog } from '../../../lib/answers.ts';
import { useAction } from '../../../lib/action.ts';
import { useApi } from '../../../lib/api.ts';
import { oneOf, useSearchState } from '../../../lib/search.ts';
import { useUser } from '../../../lib/session.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Page } from '../../../ui/Card.tsx';
import { Code } from '../../../ui/Code.tsx';
import { FormError, Loaded, Skeleton } from '../../../ui/States.tsx';
import { Tabs } from '../../../ui/Tabs.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { READS_OF_DRAFT, replaceDraft, useDraft } from '../draft/draft.ts';
import { DraftBar } from '../draft/DraftBar.tsx';
import { PastPlans, PlannedChange } from '../draft/PlannedChange.tsx';
import { CatalogEditor } from './CatalogEditor.tsx';
import { CatalogHistory } from './CatalogHistory.tsx';
import { CatalogOverview } from './CatalogOverview.tsx';
import { ModelImport } from './ModelImport.tsx';
import { ProviderKeys } from './ProviderKeys.tsx';

export default function CatalogPage() {
  const { t } = useTranslation();
  const catalog = useApi('GET /api/console/admin/catalog', undefined, { staleTime: Infinity });
  // Fetched at the same time as the catalog, not after it.
  useDraft();
  return (
    <Page wide title={t('catalog.title')} lead={t('catalog.lead')}>
      <Loaded query={catalog} skeleton={<Skeleton className="h-96 w-full rounded-lg" />}>
        {(data) => <Views catalog={data} />}
      </Loaded>
    </Page>
  );
}

const EDITABLE_VIEWS = ['overview', 'import', 'edit', 'history', 'keys'] as const;
const FILE_VIEWS = ['overview', 'import', 'edit'] as const;
/** For roles that may not change it. */
const SHOWN_VIEWS = ['overview', 'edit', 'history', 'keys'] as const;

function Views({ catalog }: { catalog: AdminCatalog }) {
  const { t } = useTranslation();
  const [state, change] = useSearchState();
  const { source } = catalog;
  const { data } = useDraft();
  const draft = data?.draft ?? null;
  // Changes when the draft is published, merged or discarded; the tabs then start over without what was typed.
  const [generation, setGeneration] = useState(0);
  const begin = (): void => setGeneration((count) => count + 1);
  const keep = useKeep(() => {
    begin();
    change({ view: 'edit' });
  });
  const mayChange = useUser().rights.includes('change_catalog');
  const isEditable = source.editable && mayChange;
  const views = isEditable ? EDITABLE_VIEWS : source.editable ? SHOWN_VIEWS : FILE_VIEWS;
  const view = oneOf(state['view'], views);
  const tabs = views.map((value) => ({
    value,
    label: value === 'edit' && !isEditable ? 'YAML' : t(`catalog.${value}`),
  }));
  return (
    <>
      <SourceNotices source={source} />
      {source.editable ? <PlannedChange /> : null}
      <Tabs label={t('catalog.tab')} value={view} onChange={(next) => change({ view: next })} tabs={tabs}>
        {view === 'overview' ? <CatalogOverview catalog={catalog} /> : null}
        {view === 'edit' && isEditable ? (
          data ? (
            <CatalogEditor key={generation} catalog={catalog} draft={draft} />
          ) : (
            <Skeleton className="h-96 w-full rounded-lg" />
          )
        ) : null}
        {view === 'edit' && !isEditable ? <Code label={t('catalog.yaml')} code={catalog.yaml} /> : null}
        {view === 'import' ? (
          <ModelImport
            catalog={catalog}
            provider={state['provider'] ?? ''}
            onDraft={(yaml, count) => keep.mutate({ yaml, text: t('import.added', { count }) })}
          />
        ) : null}
        {view === 'history' ? (
          <div className="flex flex-col gap-5">
            <PastPlans />
            <CatalogHistory
              onRestore={({ yaml, revision }) =>
                keep.mutate({ yaml, text: t('catalog.restored', { revision }) })
              }
            />
          </div>
        ) : null}
        {view === 'keys' ? <ProviderKeys /> : null}
      </Tabs>
      <FormError error={keep.error} />
      <DraftBar onGone={begin} />
    </>
  );
}

/** Replaces the draft by a whole text: imported models, or an older version. */
function useKeep(onKept: () => void) {
  return useAction(
    async (made: { yaml: string; text: string }) => {
      await replaceDraft(made.yaml);
      return made.text;
    },
    {
      refresh: READS_OF_DRAFT,
      onDone: (text) => {
        onKept();
        toast(text);
      },
    },
  );
}

function SourceNotices({ source }: Pick<AdminCatalog, 'source'>) {
  const { t } = useTranslation();
  return (
    <>
      {source.kind === 'file' ? (
        <p className="rounded-md border border-line bg-sunken px-4 py-3">
          {t('catalog.fileNote', { path: source.path ?? '' })}
        </p>
      ) : null}
      {source.restartNeeded.length > 0 ? (
        <p role="alert" className="rounded-md border border-line bg-sunken px-4 py-3">
          {t('catalog.restartNeeded', { keys: source.restartNeeded.join(', ') })}
        </p>
      ) : null}
      {source.error ? (
        <div role="alert" className="rounded-md border border-bad-line bg-bad-soft px-4 py-3 text-bad">
          <p className="font-medium">{t('catalog.error')}</p>
          <pre className="mt-1 text-sm whitespace-pre-wrap">{source.error}</pre>
        </div>
      ) : null}
    </>
  );
}
