import { useState } from 'react';
import type { AdminBackendDetail } from '../../../../lib/answers.ts';
import { useAction } from '../../../../lib/action.ts';
import { call } from '../../../../lib/api.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { AskDialog } from '../../../../ui/Dialog.tsx';
import { Badge, type Tone } from '../../../../ui/Badge.tsx';
import { Button } from '../../../../ui/Button.tsx';
import { Card } from '../../../../ui/Card.tsx';
import { Changeable } from '../../../../ui/Form.tsx';
import { FormError } from '../../../../ui/States.tsx';
import { toast } from '../../../../ui/Toast.tsx';
import { READS_OF_DRAFT, useDraftEdit } from '../../draft/draft.ts';
import { MissingKey } from '../../draft/MissingKey.tsx';

type AdminBackendKey = AdminBackendDetail['keys'][number];

interface BackendKeysProps {
  readonly backend: AdminBackendDetail;
  readonly origin: string;
}

const TONES: Record<AdminBackendKey['source'], Tone> = {
  stored: 'good',
  environment: 'neutral',
  missing: 'bad',
};

/** Several keys share the load; one that fails or hits its limit is skipped for a while, and the others go on. */
export function BackendKeys({ backend, origin }: BackendKeysProps) {
  const { t } = useTranslation();
  const [isAdding, setAdding] = useState(false);
  const edit = useDraftEdit(() => setAdding(false));
  const { keys, spareKeys } = backend;
  const names = keys.map(({ name }) => name);
  const use = (next: readonly string[]): void =>
    edit.mutate([{ kind: 'keys', backend: backend.name, names: [...next] }]);
  return (
    <Card
      title={t('backendEdit.keys')}
      hint={t('backendEdit.keysHint')}
      actions={isAdding ? null : <Button onClick={() => setAdding(true)}>{t('backendEdit.addKey')}</Button>}
    >
      {keys.length + spareKeys.length === 0 ? <p className="text-ink-3">{t('backendEdit.noKeys')}</p> : null}
      <ul className="-my-2 divide-y divide-line">
        {keys.map(({ name, hint, source }) => (
          <li key={name} className="py-2.5">
            <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
              <code className="text-sm font-medium break-all">{name}</code>
              <Badge tone={TONES[source]}>{t(`backendEdit.source.${source}`)}</Badge>
              <code className="min-w-0 flex-1 text-sm text-ink-3">{hint ?? ''}</code>
              <Button
                small
                aria-label={t('backendEdit.disableKeyOf', { name })}
                disabled={edit.isPending || keys.length === 1}
                title={keys.length === 1 ? t('backendEdit.lastKey') : undefined}
                onClick={() => use(names.filter((other) => other !== name))}
              >
                {t('backendEdit.disableKey')}
              </Button>
            </div>
            {source === 'missing' ? (
              <Changeable right="change_catalog" otherwise={null}>
                <MissingKey name={name} host={origin} />
              </Changeable>
            ) : null}
          </li>
        ))}
        {spareKeys.map(({ name, hint }) => (
          <li key={name} className="flex flex-wrap items-center gap-x-3 gap-y-2 py-2.5">
            <code className="text-sm break-all text-ink-3">{name}</code>
            <Badge tone="warn">{t('backendEdit.disabledKey')}</Badge>
            <code className="min-w-0 flex-1 text-sm text-ink-3">{hint}</code>
            <Button
              small
              aria-label={t('backendEdit.useKeyOf', { name })}
              disabled={edit.isPending}
              onClick={() => use([...names, name])}
            >
              {t('backendEdit.useKey')}
            </Button>
            <DeleteKey name={name} />
          </li>
        ))}
      </ul>
      {isAdding ? (
        <div className="mt-4 border-t border-line pt-3">
          <MissingKey
            name={backend.nextKeyName}
            host={origin}
            button={t('backendEdit.storeAndUse')}
            onStored={() => use([...names, backend.nextKeyName])}
          />
        </div>
      ) : null}
      <FormError error={edit.error} />
    </Card>
  );
}

/** Only unused keys can be deleted; the server checks whether the published catalog uses one. */
function DeleteKey({ name }: { name: string }) {
  const { t } = useTranslation();
  const [isAsking, setAsking] = useState(false);
  const remove = useAction(
    async () => await call('DELETE /api/console/admin/catalog/keys/{id}', { params: { id: name } }),
    {
      refresh: [...READS_OF_DRAFT, 'GET /api/console/admin/catalog/keys'],
      onDone: () => toast(t('catalog.keyDeleted')),
    },
  );
  return (
    <>
      <Button
        small
        kind="ghost"
        busy={remove.isPending}
        aria-label={t('backendEdit.deleteKeyOf', { name })}
        onClick={() => setAsking(true)}
      >
        {t('common.delete')}
      </Button>
      <FormError error={remove.error} />
      <AskDialog
        open={isAsking}
        title={t('catalog.keyDeleteTitle', { name })}
        go={t('common.delete')}
        onGo={() => remove.mutate()}
        onClose={() => setAsking(false)}
      >
        {t('backendEdit.deleteKeyLead')}
      </AskDialog>
    </>
  );
}
