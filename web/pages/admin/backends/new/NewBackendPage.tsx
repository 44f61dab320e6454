import { useState } from 'react';
import type { AdminCatalogImport } from '../../../../lib/answers.ts';
import { useAction } from '../../../../lib/action.ts';
import { useApi, call } from '../../../../lib/api.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { Button, LinkButton } from '../../../../ui/Button.tsx';
import { Card, Page } from '../../../../ui/Card.tsx';
import { TextField } from '../../../../ui/Field.tsx';
import { Form } from '../../../../ui/Form.tsx';
import { FormError, Loaded, Skeleton } from '../../../../ui/States.tsx';
import { toast } from '../../../../ui/Toast.tsx';
import { READS_OF_DRAFT, replaceDraft } from '../../draft/draft.ts';
import { ModelsStep } from './ModelsStep.tsx';
import { NO_SERVER, type ChosenProvider, type EnteredServer } from './provider.ts';
import { ProviderTiles } from './ProviderTiles.tsx';
import { PublishStep } from './PublishStep.tsx';

/** From a provider to published models, without YAML: choose, give the key, tick models, test, publish. */
export default function NewBackendPage() {
  const { t } = useTranslation();
  const providers = useApi('GET /api/console/admin/providers');
  const [chosen, setChosen] = useState<ChosenProvider>();
  // What was entered for a server of one's own, for when the form is opened again.
  const [entered, setEntered] = useState<EnteredServer>(NO_SERVER);
  const [draft, setDraft] = useState<AdminCatalogImport>();
  // Saved to the draft, so that nothing is lost by leaving the page now.
  const keep = useAction(
    async (made: AdminCatalogImport) => {
      const kept = made.yaml === null ? undefined : await replaceDraft(made.yaml);
      return { ...made, revision: kept?.draft?.revision ?? made.revision };
    },
    { refresh: READS_OF_DRAFT, onDone: setDraft },
  );
  const choose = (provider: ChosenProvider | undefined): void => {
    setChosen(provider);
    setDraft(undefined);
  };
  const needsKey = chosen?.keyName !== undefined && !chosen.hasKey;
  return (
    <Page
      wide
      title={t('newBackend.title')}
      lead={t('newBackend.lead')}
      actions={<LinkButton href="/admin/backends">{t('newBackend.back')}</LinkButton>}
    >
      {chosen ? (
        <Card>
          <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
            <div className="min-w-0 flex-1 basis-48">
              <h2 className="text-lg font-semibold">{chosen.title}</h2>
              <p className="text-sm break-all text-ink-3">{chosen.host}</p>
            </div>
            {chosen.keyName !== undefined && chosen.hasKey ? (
              <Button onClick={() => choose({ ...chosen, hasKey: false })}>
                {t('newBackend.replaceKey')}
              </Button>
            ) : null}
            <Button onClick={() => choose(undefined)}>{t('newBackend.change')}</Button>
          </div>
        </Card>
      ) : (
        <Loaded query={providers} skeleton={<Skeleton className="h-96 w-full rounded-lg" />}>
          {(data) => (
            <ProviderTiles providers={data} entered={entered} onEnter={setEntered} onChoose={choose} />
          )}
        </Loaded>
      )}
      {chosen && needsKey ? (
        <KeyStep chosen={chosen} onStored={() => setChosen({ ...chosen, hasKey: true })} />
      ) : null}
      {chosen && !needsKey ? (
        <ModelsStep
          key={chosen.name}
          chosen={chosen}
          onDraft={(made) => {
            if (made) keep.mutate(made);
            else setDraft(undefined);
          }}
        />
      ) : null}
      <FormError error={keep.error} />
      {draft ? <PublishStep draft={draft} /> : null}
    </Page>
  );
}

/** The key is tried first, then stored encrypted; it is sent only to this provider's server. */
function KeyStep({ chosen, onStored }: { chosen: ChosenProvider; onStored: () => void }) {
  const { t } = useTranslation();
  const [value, setValue] = useState('');
  const store = useAction(
    async () =>
      await call('POST /api/console/admin/backends/key', {
        body: {
          provider: chosen.name,
          ...(chosen.server && { server: chosen.server }),
          value: value.trim(),
        },
      }),
    {
      refresh: ['GET /api/console/admin/catalog/keys', 'GET /api/console/admin/providers'],
      onDone: () => {
        toast(t('catalog.keySet'));
        onStored();
      },
    },
  );
  return (
    <Card title={t('newBackend.key')} hint={t('newBackend.keyHint', { host: chosen.host })}>
      <Form className="flex flex-wrap items-start gap-4" onSubmit={() => store.mutate()}>
        <TextField
          label={t('newBackend.keyOf', { title: chosen.title })}
          required
          type="password"
          autoComplete="off"
          autoFocus
          maxLength={4_096}
          value={value}
          onChange={(event) => setValue(event.target.value)}
          fieldClassName="w-full sm:w-96"
        />
        <Button type="submit" kind="primary" busy={store.isPending} className="sm:mt-6.5">
          {store.isPending ? t('newBackend.tryingKey') : t('newBackend.storeKey')}
        </Button>
      </Form>
      <div className="mt-3">
        <FormError error={store.error} />
      </div>
    </Card>
  );
}
