import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { FormError } from '../../../ui/States.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { READS_OF_CATALOG } from './draft.ts';

const MOST_NAMED = 12;

/** Somebody has published since this draft began: nothing is overwritten, and nothing is lost. */
export function MergeDraft({ onGone }: { onGone: (() => void) | undefined }) {
  const { t } = useTranslation();
  const merge = useAction(
    async (prefer: 'mine' | 'theirs' | undefined) =>
      await call('POST /api/console/admin/catalog/draft/merge', { body: prefer ? { prefer } : {} }),
    {
      refresh: READS_OF_CATALOG,
      onDone: ({ conflicts }) => {
        if (conflicts.length > 0) return;
        toast(t('draft.merged'));
        // What pages show of the draft has changed under them.
        onGone?.();
      },
    },
  );
  const conflicts = merge.data?.conflicts ?? [];
  return (
    <div role="alert" className="rounded-md border border-warn-line bg-warn-soft px-4 py-3">
      <p className="text-warn">{t('draft.outdated')}</p>
      {conflicts.length > 0 ? (
        <>
          <p className="mt-2">{t('draft.conflicts', { count: conflicts.length })}</p>
          <ul className="mt-1 list-disc pl-5 text-sm">
            {conflicts.slice(0, MOST_NAMED).map((path) => (
              <li key={path}>
                <code className="break-all">{path}</code>
              </li>
            ))}
          </ul>
          <div className="mt-3 flex flex-wrap gap-2">
            <Button busy={merge.isPending} onClick={() => merge.mutate('mine')}>
              {t('draft.keepMine')}
            </Button>
            <Button busy={merge.isPending} onClick={() => merge.mutate('theirs')}>
              {t('draft.takeTheirs')}
            </Button>
          </div>
        </>
      ) : (
        <Button className="mt-3" busy={merge.isPending} onClick={() => merge.mutate(undefined)}>
          {t('draft.merge')}
        </Button>
      )}
      <FormError error={merge.error} />
    </div>
  );
}
