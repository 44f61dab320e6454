import type { AdminCatalog, AdminCatalogDraft } from '../../../../src/console/contract.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { FormError } from '../../../ui/States.tsx';
import { useYamlDraft } from '../draft/yamlDraft.ts';
import { Proposal } from './Proposal.tsx';
import { Publish } from './Publish.tsx';
import { YamlField } from './YamlField.tsx';

interface CatalogEditorProps {
  readonly catalog: AdminCatalog;
  readonly draft: AdminCatalogDraft['draft'];
}

/** Text, check, preview, publish: nothing goes live that was not seen in the preview. */
export function CatalogEditor({ catalog, draft }: CatalogEditorProps) {
  const { t } = useTranslation();
  const yaml = useYamlDraft(catalog.yaml, draft);
  const propose = useAction(async (text: string) => {
    const proposal = await call('POST /api/console/admin/catalog/propose', { body: { yaml: text } });
    return { yaml: text, proposal };
  });
  const checked = propose.data?.yaml === yaml.text ? propose.data.proposal : undefined;
  const ready = checked?.ok === true && checked.changes.length > 0 && !yaml.isPending && !draft?.isOutdated;
  return (
    <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,1.4fr)_minmax(0,1fr)]">
      <YamlField value={yaml.text} onChange={yaml.type} problems={checked?.problems ?? []} />
      <div className="flex flex-col gap-4 lg:sticky lg:top-6">
        <div className="flex flex-wrap items-center gap-3">
          <Button
            busy={propose.isPending}
            kind={ready ? 'plain' : 'primary'}
            onClick={() => propose.mutate(yaml.text)}
          >
            {t('catalog.check')}
          </Button>
          {yaml.isPending || draft ? (
            <span role="status" className="text-sm text-ink-3">
              {t(yaml.isPending ? 'draft.saving' : 'draft.savedNow')}
            </span>
          ) : null}
        </div>
        {yaml.isElsewhere ? (
          <div role="alert" className="rounded-md border border-warn-line bg-warn-soft px-4 py-3">
            <p className="mb-3 text-warn">{t('draft.elsewhere')}</p>
            <div className="flex flex-wrap gap-2">
              <Button small onClick={yaml.loadNewest}>
                {t('draft.loadNewest')}
              </Button>
              <Button small onClick={yaml.keepMine}>
                {t('draft.useMine')}
              </Button>
            </div>
          </div>
        ) : (
          <FormError error={yaml.error} />
        )}
        <FormError error={propose.error} />
        {checked ? <Proposal proposal={checked} onKeyStored={() => propose.mutate(yaml.text)} /> : null}
        {propose.data && !checked ? <p className="text-sm text-ink-3">{t('catalog.dirty')}</p> : null}
        {ready ? (
          <Publish
            yaml={yaml.text}
            revision={draft?.revision ?? catalog.revision ?? 0}
            onPublished={propose.reset}
          />
        ) : null}
      </div>
    </div>
  );
}
