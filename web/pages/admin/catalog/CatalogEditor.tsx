import { useTranslation } from 'react-i18next';
import type { AdminCatalog } from '../../../../src/console/contract.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { Badge } from '../../../ui/Badge.tsx';
import { Button } from '../../../ui/Button.tsx';
import { FormError } from '../../../ui/States.tsx';
import { Proposal } from './Proposal.tsx';
import { Publish } from './Publish.tsx';
import { YamlField } from './YamlField.tsx';

interface CatalogEditorProps {
  readonly catalog: AdminCatalog;
  readonly draft: string;
  readonly onDraft: (yaml: string) => void;
}

/** Text, check, preview, publish: nothing goes live that was not seen in the preview. */
export function CatalogEditor({ catalog, draft, onDraft }: CatalogEditorProps) {
  const { t } = useTranslation();
  const propose = useAction(async (yaml: string) => {
    const proposal = await call('POST /api/console/admin/catalog/propose', { body: { yaml } });
    return { yaml, proposal };
  });
  const checked = propose.data?.yaml === draft ? propose.data.proposal : undefined;
  const ready = checked?.ok === true && checked.changes.length > 0;
  return (
    <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,1.4fr)_minmax(0,1fr)]">
      <YamlField value={draft} onChange={onDraft} problems={checked?.problems ?? []} />
      <div className="flex flex-col gap-4 lg:sticky lg:top-6">
        <div className="flex flex-wrap items-center gap-2">
          <Button
            busy={propose.isPending}
            kind={ready ? 'plain' : 'primary'}
            onClick={() => propose.mutate(draft)}
          >
            {t('catalog.check')}
          </Button>
          {draft === catalog.yaml ? null : (
            <>
              <Badge tone="warn">{t('catalog.unsaved')}</Badge>
              <Button kind="ghost" small onClick={() => onDraft(catalog.yaml)}>
                {t('catalog.reload')}
              </Button>
            </>
          )}
        </div>
        <FormError error={propose.error} />
        {checked ? <Proposal proposal={checked} /> : null}
        {propose.data && !checked ? <p className="text-sm text-ink-3">{t('catalog.dirty')}</p> : null}
        {ready ? <Publish yaml={draft} revision={catalog.revision ?? 0} onPublished={propose.reset} /> : null}
      </div>
    </div>
  );
}
