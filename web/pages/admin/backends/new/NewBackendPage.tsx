import { useState } from 'react';
import type { AdminCatalogImport, AdminProviders } from '../../../../lib/answers.ts';
import { useAction } from '../../../../lib/action.ts';
import { useApi, call } from '../../../../lib/api.ts';
import { useSearchState } from '../../../../lib/search.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { Button, LinkButton } from '../../../../ui/Button.tsx';
import { Page } from '../../../../ui/Card.tsx';
import { TextField } from '../../../../ui/Field.tsx';
import { Changeable, Form } from '../../../../ui/Form.tsx';
import { Empty, FormError, Loaded, Skeleton } from '../../../../ui/States.tsx';
import { toast } from '../../../../ui/Toast.tsx';
import { ProviderMark } from '../ProviderMark.tsx';
import { READS_OF_DRAFT, replaceDraft } from '../../draft/draft.ts';
import { ModelsStep } from './ModelsStep.tsx';
import { providerNamed, type ChosenProvider, type EnteredServer } from './provider.ts';
import { Step } from './Step.tsx';
import { ProviderTiles } from './ProviderTiles.tsx';
import { PublishStep } from './PublishStep.tsx';

/** From a provider to published models, without YAML: choose, give the key, tick models, test, publish. */
export default function NewBackendPage() {
  const { t } = useTranslation();
  const providers = useApi('GET /api/console/admin/providers');
  const {
    chosen,
    choose: chooseProvider,
    entered,
    setEntered,
    setHasKey,
  } = useChosenProvider(providers.data);
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
    chooseProvider(provider);
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
      <Changeable right="change_catalog" otherwise={<Empty title={t('newBackend.notAllowed')} />}>
        {chosen ? (
          <Provider
            chosen={chosen}
            onChoose={choose}
            onStored={() => setHasKey(true)}
            onReplace={() => setHasKey(false)}
          />
        ) : (
          <Loaded query={providers} skeleton={<Skeleton className="h-96 w-full rounded-lg" />}>
            {(data) => (
              <ProviderTiles providers={data} entered={entered} onEnter={setEntered} onChoose={choose} />
            )}
          </Loaded>
        )}
        {chosen && !needsKey ? (
          <ModelsStep
            key={chosen.name}
            chosen={chosen}
            taken={draft && draft.new.length + draft.changed.length}
            onDraft={(made) => {
              if (made) keep.mutate(made);
              else setDraft(undefined);
            }}
          />
        ) : null}
        <FormError error={keep.error} />
        {draft ? <PublishStep draft={draft} /> : null}
      </Changeable>
    </Page>
  );
}

/** The choice is in the address: a page that is loaded again goes on with it. */
function useChosenProvider(providers: AdminProviders | undefined) {
  const [{ provider: name = '', address = '', key }, change] = useSearchState();
  // The entries for one's own server, for when the form is opened again.
  const [entered, setEntered] = useState<EnteredServer>({ name, address, needsKey: key !== 'none' });
  // Since the page was opened, a key was stored, or is to be replaced.
  const [hasKey, setHasKey] = useState<boolean>();
  const found = providerNamed({ name, address, needsKey: key !== 'none' }, providers);
  const isOwn = found?.server?.keyName !== undefined;
  const keys = useApi('GET /api/console/admin/catalog/keys', undefined, { enabled: isOwn });
  const isStored =
    keys.data?.items.some((stored) => stored.name === found?.keyName && stored.host === found?.origin) ??
    false;
  return {
    chosen: found && { ...found, hasKey: hasKey ?? (isOwn ? isStored : found.hasKey) },
    choose: (provider: ChosenProvider | undefined): void => {
      setHasKey(undefined);
      change({
        provider: provider?.name,
        address: provider?.server?.baseUrl,
        key: provider?.server && provider.keyName === undefined ? 'none' : undefined,
      });
    },
    entered,
    setEntered,
    setHasKey,
  };
}

interface ProviderProps {
  readonly chosen: ChosenProvider;
  readonly onChoose: (provider: ChosenProvider | undefined) => void;
  readonly onStored: () => void;
  readonly onReplace: () => void;
}

/** The first two steps once a provider is chosen: which one, and its key if it needs one. */
function Provider({ chosen, onChoose, onStored, onReplace }: ProviderProps) {
  const { t } = useTranslation();
  return (
    <>
      <Step
        number={1}
        title={t('newBackend.provider')}
        done={
          <span className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
            <ProviderMark names={[chosen.name]} />
            <span className="font-medium text-ink">{chosen.title}</span>
            <span className="text-sm break-all text-ink-3">{chosen.host}</span>
          </span>
        }
        again={t('newBackend.change')}
        onAgain={() => onChoose(undefined)}
      />
      {chosen.keyName === undefined ? null : (
        <KeyStep key={chosen.name} chosen={chosen} onReplace={onReplace} onStored={onStored} />
      )}
    </>
  );
}

interface KeyStepProps {
  readonly chosen: ChosenProvider;
  readonly onStored: () => void;
  readonly onReplace: () => void;
}

/** The key is tried first, then stored encrypted; it is sent only to this provider's server. */
function KeyStep({ chosen, onStored, onReplace }: KeyStepProps) {
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
    <Step
      number={2}
      title={t('newBackend.key')}
      hint={t('newBackend.keyHint', { host: chosen.host })}
      done={chosen.hasKey ? t('newBackend.keyStored') : undefined}
      again={t('newBackend.replaceKey')}
      onAgain={onReplace}
    >
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
    </Step>
  );
}
