import { useEffect } from 'react';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Card } from '../../../ui/Card.tsx';
import { FormError, Skeleton } from '../../../ui/States.tsx';
import { Proposal } from './Proposal.tsx';
import { Publish } from './Publish.tsx';

interface PublishDraftProps {
  readonly yaml: string;
  readonly revision: number;
  readonly onPublished: () => void;
}

/** What a draft would change, and the button that makes it true. */
export function PublishDraft({ yaml, revision, onPublished }: PublishDraftProps) {
  const propose = useAction(
    async () => await call('POST /api/console/admin/catalog/propose', { body: { yaml } }),
  );
  const { mutate } = propose;
  useEffect(() => mutate(), [mutate]);
  return (
    <>
      <FormError error={propose.error} />
      {propose.data ? (
        <Proposal proposal={propose.data} onKeyStored={() => mutate()} />
      ) : (
        <Skeleton className="h-24 w-full rounded-md" />
      )}
      {propose.data?.ok ? (
        <div className="mt-4">
          <Publish yaml={yaml} revision={revision} onPublished={onPublished} />
        </div>
      ) : null}
    </>
  );
}

/** The same as a step of a page. */
export function PublishDraftCard(props: PublishDraftProps) {
  const { t } = useTranslation();
  return (
    <Card title={t('newBackend.publish')} hint={t('newBackend.publishHint')}>
      <PublishDraft {...props} />
    </Card>
  );
}
