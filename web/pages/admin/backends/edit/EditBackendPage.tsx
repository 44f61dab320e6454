import { useState } from 'react';
import { useLocation } from 'wouter';
import type { AdminBackendDetail } from '../../../../lib/answers.ts';
import { useApi } from '../../../../lib/api.ts';
import { pathParts } from '../../../../lib/search.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { AskDialog } from '../../../../ui/Dialog.tsx';
import { LinkButton, Button } from '../../../../ui/Button.tsx';
import { Page, Card } from '../../../../ui/Card.tsx';
import { TextField, SelectField } from '../../../../ui/Field.tsx';
import { Changeable, Form } from '../../../../ui/Form.tsx';
import { Loaded, Skeleton, FormError } from '../../../../ui/States.tsx';
import { useDraftEdit } from '../../draft/draft.ts';
import { DraftBar } from '../../draft/DraftBar.tsx';
import { BackendKeys } from './BackendKeys.tsx';
import { BackendModels } from './BackendModels.tsx';
import { EndpointOrder } from './EndpointOrder.tsx';

/** A backend as the draft has it. Changes stay in the draft until it is published. */
export default function EditBackendPage() {
  const { t } = useTranslation();
  const [name = ''] = pathParts('/admin/backends/');
  const detail = useApi('GET /api/console/admin/backends/{id}/edit', { params: { id: name } });
  return (
    <Page
      title={name}
      lead={t('backendEdit.lead')}
      actions={<LinkButton href="/admin/backends">{t('newBackend.back')}</LinkButton>}
    >
      <Loaded query={detail} skeleton={<Skeleton className="h-96 w-full rounded-lg" />}>
        {(backend) => (
          <Changeable right="change_catalog">
            <Parts key={backend.name} backend={backend} />
          </Changeable>
        )}
      </Loaded>
      <DraftBar />
    </Page>
  );
}

function Parts({ backend }: { backend: AdminBackendDetail }) {
  const { t } = useTranslation();
  return (
    <>
      {backend.isPublished ? null : (
        <p className="rounded-md border border-line bg-sunken px-4 py-3">{t('backendEdit.unpublished')}</p>
      )}
      {backend.origin === null ? null : (
        <>
          <BackendAddress backend={backend} />
          <BackendKeys backend={backend} origin={backend.origin} />
        </>
      )}
      <BackendOrder backend={backend} />
      <BackendModels backend={backend} />
      <Changeable right="change_catalog" otherwise={null}>
        <RemoveBackend backend={backend} />
      </Changeable>
    </>
  );
}

function BackendAddress({ backend }: { backend: AdminBackendDetail }) {
  const { t } = useTranslation();
  const written = backend.baseUrl ?? '';
  const [typed, setTyped] = useState<string>();
  const edit = useDraftEdit(() => setTyped(undefined));
  const address = (typed ?? written).trim().replace(/\/+$/, '');
  const isWrong = address === '' ? backend.usualAddress === null : !isAddress(address);
  const save = (): void => {
    if (!isWrong && address !== written)
      edit.mutate([{ kind: 'address', backend: backend.name, baseUrl: address }]);
  };
  return (
    <Card title={t('newBackend.address')} hint={t('backendEdit.addressHint')}>
      <Form className="flex flex-wrap items-start gap-4" onSubmit={save}>
        <TextField
          label={t('newBackend.address')}
          hideLabel
          inputMode="url"
          autoComplete="off"
          placeholder={backend.usualAddress ?? 'https://llm.example.com/v1'}
          error={isWrong ? t('newBackend.badAddress') : undefined}
          value={typed ?? written}
          onChange={(event) => setTyped(event.target.value)}
          onBlur={save}
          fieldClassName="w-full sm:w-[32rem] sm:max-w-full"
        />
        <Button type="submit" busy={edit.isPending} disabled={isWrong || address === written}>
          {t('backendEdit.apply')}
        </Button>
      </Form>
      <FormError error={edit.error} />
    </Card>
  );
}

/** `${NAME}` alone is valid too: the variable holds the address. */
function isAddress(text: string): boolean {
  return (/^https?:\/\//.test(text) && URL.canParse(text)) || /^\$\{\w+\}$/.test(text);
}

/** The endpoints that use the backend, and its place among their other backends. */
function BackendOrder({ backend }: { backend: AdminBackendDetail }) {
  const { t } = useTranslation();
  return (
    <Card title={t('backendEdit.order')} hint={t('backendEdit.orderHint')}>
      {backend.endpoints.length === 0 ? <p className="text-ink-3">{t('backendEdit.noEndpoints')}</p> : null}
      <div className="flex flex-col gap-6">
        {backend.endpoints.map((endpoint) => (
          <EndpointOrder key={endpoint.code} endpoint={endpoint} />
        ))}
        {backend.otherEndpoints.length > 0 ? (
          <Changeable right="change_catalog" otherwise={null}>
            <AddToEndpoint backend={backend} />
          </Changeable>
        ) : null}
      </div>
    </Card>
  );
}

/** Adds it in the last place, so that nothing changes for customers until it is moved up. */
function AddToEndpoint({ backend: { name, otherEndpoints } }: { backend: AdminBackendDetail }) {
  const { t } = useTranslation();
  const [code, setCode] = useState('');
  const edit = useDraftEdit(() => setCode(''));
  const endpoint = otherEndpoints.find((one) => one.code === code);
  return (
    <Form
      className="flex flex-wrap items-end gap-3 border-t border-line pt-4"
      onSubmit={() => {
        if (endpoint)
          edit.mutate([
            { kind: 'places', endpoint: code, places: [...endpoint.places, [{ upstream: name, weight: 1 }]] },
          ]);
      }}
    >
      <SelectField
        label={t('backendEdit.addTo')}
        hint={t('backendEdit.addToHint')}
        value={code}
        onChange={(event) => setCode(event.target.value)}
        fieldClassName="w-full sm:w-96"
      >
        <option value="">{t('backendEdit.chooseEndpoint')}</option>
        {otherEndpoints.map((one) => (
          <option key={one.code} value={one.code}>
            {one.name} ({one.code})
          </option>
        ))}
      </SelectField>
      <Button type="submit" busy={edit.isPending} disabled={!endpoint} className="sm:mb-6.5">
        {t('backendEdit.add')}
      </Button>
      <FormError error={edit.error} />
    </Form>
  );
}

const MOST_REFERENCES = 8;

/** Says what is removed with the backend before it asks. */
function RemoveBackend({ backend: { name, references } }: { backend: AdminBackendDetail }) {
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
              {references[kind].slice(0, MOST_REFERENCES).map((text) => (
                <li key={text}>
                  <code className="break-all">{text}</code>
                </li>
              ))}
              {references[kind].length > MOST_REFERENCES ? (
                <li>{t('models.moreOffers', { count: references[kind].length - MOST_REFERENCES })}</li>
              ) : null}
            </ul>
          </div>
        ))}
      </AskDialog>
    </Card>
  );
}
