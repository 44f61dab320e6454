import { useState } from 'react';
import type { AdminCatalogDraft } from '../../../lib/answers.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Dialog, AskDialog } from '../../../ui/Dialog.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Changeable } from '../../../ui/Form.tsx';
import { FormError } from '../../../ui/States.tsx';
import { Time } from '../../../ui/Time.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { PublishDraft } from '../catalog/PublishDraft.tsx';
import { READS_OF_DRAFT, useDraft, READS_OF_CATALOG } from './draft.ts';

interface DraftBarProps {
  /** The latest input is not in the draft yet, or cannot be saved. */
  readonly isPending?: boolean;
  /** Called when the draft was published, merged or discarded. */
  readonly onGone?: () => void;
}

/** The unpublished changes, on every page that edits the catalog. */
export function DraftBar({ isPending = false, onGone }: DraftBarProps) {
  const { data } = useDraft();
  if (!data?.draft) return null;
  return (
    <Changeable right="change_catalog" otherwise={null}>
      <Bar draft={data.draft} isPending={isPending} onGone={onGone} />
    </Changeable>
  );
}

interface BarProps {
  readonly draft: NonNullable<AdminCatalogDraft['draft']>;
  readonly isPending: boolean;
  readonly onGone: (() => void) | undefined;
}

function Bar({ draft, isPending, onGone }: BarProps) {
  const { t } = useTranslation();
  const [isReviewing, setReviewing] = useState(false);
  return (
    <section
      aria-label={t('draft.label')}
      className="sticky bottom-4 z-10 after:absolute after:inset-x-0 after:top-full after:mt-px after:h-4 after:bg-page flex flex-col gap-3 rounded-lg border border-line bg-raised px-5 py-3 shadow-md"
    >
      {draft.isOutdated ? <MergeDraft onGone={onGone} /> : null}
      <div className="flex flex-wrap items-center gap-3">
        <p role="status" className="min-w-0 flex-1 basis-52">
          <span className="font-medium">{t('draft.title')}</span>{' '}
          <span className="text-sm text-ink-3">
            {isPending ? (
              t('draft.pending')
            ) : (
              <>
                {t('draft.saved')} <Time at={draft.savedAt} style="relative" />
              </>
            )}
          </span>
        </p>
        <Discard onGone={onGone} />
        <Button kind="primary" disabled={isPending || draft.isOutdated} onClick={() => setReviewing(true)}>
          {t('draft.review')}
        </Button>
      </div>
      <Dialog
        open={isReviewing}
        kind="wide"
        title={t('draft.reviewTitle')}
        onClose={() => setReviewing(false)}
      >
        <PublishDraft
          key={draft.tag}
          yaml={draft.yaml}
          revision={draft.revision}
          onPublished={() => {
            setReviewing(false);
            onGone?.();
          }}
        />
      </Dialog>
    </section>
  );
}

const MOST_CONFLICTS = 12;

/** Another version was published since this draft began: merging overwrites nothing and loses nothing. */
function MergeDraft({ onGone }: { onGone: (() => void) | undefined }) {
  const { t } = useTranslation();
  const merge = useAction(
    async (prefer: 'mine' | 'theirs' | undefined) =>
      await call('POST /api/console/admin/catalog/draft/merge', { body: prefer ? { prefer } : {} }),
    {
      refresh: READS_OF_CATALOG,
      onDone: ({ conflicts }) => {
        if (conflicts.length > 0) return;
        toast(t('draft.merged'));
        // The draft has changed, so pages that show it start over.
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
            {conflicts.slice(0, MOST_CONFLICTS).map((path) => (
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

function Discard({ onGone }: Pick<BarProps, 'onGone'>) {
  const { t } = useTranslation();
  const [isAsking, setAsking] = useState(false);
  const discard = useAction(
    async () => await call('POST /api/console/admin/catalog/draft/discard', { body: {} }),
    {
      refresh: READS_OF_DRAFT,
      onDone: () => {
        toast(t('draft.discarded'));
        onGone?.();
      },
    },
  );
  return (
    <>
      <FormError error={discard.error} />
      <Button busy={discard.isPending} onClick={() => setAsking(true)}>
        {t('draft.discard')}
      </Button>
      <AskDialog
        open={isAsking}
        title={t('draft.discardTitle')}
        go={t('draft.discard')}
        onGo={() => discard.mutate()}
        onClose={() => setAsking(false)}
      >
        {t('draft.discardLead')}
      </AskDialog>
    </>
  );
}
