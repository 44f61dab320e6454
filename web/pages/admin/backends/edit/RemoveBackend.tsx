import { useState } from 'react';
import { useLocation } from 'wouter';
import type { AdminBackendDetail } from '../../../../../src/console/contract.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { AskDialog } from '../../../../ui/AskDialog.tsx';
import { Button } from '../../../../ui/Button.tsx';
import { Card } from '../../../../ui/Card.tsx';
import { FormError } from '../../../../ui/States.tsx';
import { useDraftEdit } from '../../draft/draft.ts';

const MOST_NAMED = 8;

/** Says what goes with it before it does. */
export function RemoveBackend({ backend: { name, references } }: { backend: AdminBackendDetail }) {
  const { t } = useTranslation();
  const [, go] = useLocation();
  const [isAsking, setAsking] = useState(false);
  const edit = useDraftEdit(() => go('/admin/backends'));
  const kinds = (['ownEndpoints', 'ownLists', 'aliases', 'sharedEndpoints', 'details'] as const).filter(
    (kind) => references[kind].length > 0,
  );
  return (
    <Card title={t('backendEdit.remove')}>
      <p className="mb-3 max-w-[68ch] text-ink-2">{t('backendEdit.removeLead')}</p>
      <Button busy={edit.isPending} onClick={() => setAsking(true)}>
        {t('backendEdit.removeButton', { name })}
      </Button>
      <FormError error={edit.error} />
      <AskDialog
        open={isAsking}
        title={t('backendEdit.removeTitle', { name })}
        go={t('backendEdit.removeGo')}
        onGo={() => edit.mutate([{ kind: 'remove_backend', backend: name, withReferences: true }])}
        onClose={() => setAsking(false)}
      >
        <p>{t(kinds.length === 0 ? 'backendEdit.removeUnused' : 'backendEdit.removeUsed')}</p>
        {kinds.map((kind) => (
          <div key={kind} className="mt-3">
            <p className="font-medium">{t(`backendEdit.goes.${kind}`)}</p>
            <ul className="list-disc pl-5 text-sm">
              {references[kind].slice(0, MOST_NAMED).map((text) => (
                <li key={text}>
                  <code className="break-all">{text}</code>
                </li>
              ))}
              {references[kind].length > MOST_NAMED ? (
                <li>{t('models.moreOffers', { count: references[kind].length - MOST_NAMED })}</li>
              ) : null}
            </ul>
          </div>
        ))}
      </AskDialog>
    </Card>
  );
}
