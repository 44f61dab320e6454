import { useState, type ReactNode } from 'react';
import type { AdminProviders } from '../../../../lib/answers.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { Badge } from '../../../../ui/Badge.tsx';
import { Button } from '../../../../ui/Button.tsx';
import { Card } from '../../../../ui/Card.tsx';
import { Check, TextField } from '../../../../ui/Field.tsx';
import { Form } from '../../../../ui/Form.tsx';
import {
  listedProvider,
  localServer,
  ownServer,
  type ChosenProvider,
  type EnteredServer,
} from './provider.ts';

interface ProviderTilesProps {
  readonly providers: AdminProviders;
  readonly onChoose: (provider: ChosenProvider) => void;
  readonly entered: EnteredServer;
  readonly onEnter: (server: EnteredServer) => void;
}

export function ProviderTiles({ providers, ...own }: ProviderTilesProps) {
  const { onChoose } = own;
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const wanted = text.trim().toLowerCase();
  const items = providers.items.filter(({ name, title }) =>
    `${name} ${title}`.toLowerCase().includes(wanted),
  );
  return (
    <>
      {providers.local.length > 0 ? (
        <Card title={t('newBackend.local')} hint={t('newBackend.localHint')}>
          <Tiles>
            {providers.local.map((server) => (
              <Tile
                key={server.name}
                title={server.title}
                note={`${server.host} · ${t('newBackend.models', { count: server.models })}`}
                isAdded={server.isAdded}
                onClick={() => onChoose(localServer(server))}
              />
            ))}
          </Tiles>
        </Card>
      ) : null}
      <Card title={t('newBackend.providers')}>
        <TextField
          label={t('newBackend.search')}
          type="search"
          value={text}
          onChange={(event) => setText(event.target.value)}
          fieldClassName="mb-4 w-full sm:w-80"
        />
        {items.length === 0 ? <p className="text-ink-3">{t('newBackend.noProvider')}</p> : null}
        <Tiles>
          {items.map((provider) => (
            <Tile
              key={provider.name}
              title={provider.title}
              note={provider.host}
              isAdded={provider.isAdded}
              hasKey={provider.hasKey}
              onClick={() => onChoose(listedProvider(provider))}
            />
          ))}
        </Tiles>
      </Card>
      <OwnServer {...own} />
    </>
  );
}

function Tiles({ children }: { children: ReactNode }) {
  return <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3 xl:grid-cols-4">{children}</ul>;
}

interface TileProps {
  readonly title: string;
  readonly note: string;
  readonly isAdded: boolean;
  readonly hasKey?: boolean;
  readonly onClick: () => void;
}

function Tile({ title, note, isAdded, hasKey, onClick }: TileProps) {
  const { t } = useTranslation();
  return (
    <li>
      <button
        type="button"
        onClick={onClick}
        className="flex h-full w-full min-w-0 flex-col gap-1 rounded-md border border-line px-4 py-3 text-left transition-colors hover:border-ink-3 hover:bg-sunken"
      >
        <span className="flex flex-wrap items-center gap-2">
          <span className="font-medium">{title}</span>
          {isAdded ? <Badge tone="good">{t('newBackend.added')}</Badge> : null}
          {hasKey && !isAdded ? <Badge>{t('newBackend.keyStored')}</Badge> : null}
        </span>
        <span className="text-sm break-all text-ink-3">{note}</span>
      </button>
    </li>
  );
}

/** Any other server that speaks OpenAI's API. */
function OwnServer({ entered, onEnter, onChoose }: Omit<ProviderTilesProps, 'providers'>) {
  const { t } = useTranslation();
  const { name, address, needsKey } = entered;
  const [isWrong, setWrong] = useState(false);
  return (
    <Card title={t('newBackend.other')} hint={t('newBackend.otherHint')}>
      <Form
        className="flex flex-wrap items-start gap-4"
        onSubmit={() => {
          const server = ownServer(entered);
          setWrong(!server);
          if (server) onChoose(server);
        }}
      >
        <TextField
          label={t('newBackend.name')}
          hint={t('newBackend.nameHint')}
          required
          pattern="[a-z][a-z0-9_\-]{0,39}"
          autoComplete="off"
          value={name}
          onChange={(event) => onEnter({ ...entered, name: event.target.value.toLowerCase() })}
          fieldClassName="w-full sm:w-56"
        />
        <TextField
          label={t('newBackend.address')}
          hint={t('newBackend.addressHint')}
          error={isWrong ? t('newBackend.badAddress') : undefined}
          required
          inputMode="url"
          autoComplete="off"
          placeholder="https://llm.example.com/v1"
          value={address}
          onChange={(event) => onEnter({ ...entered, address: event.target.value })}
          fieldClassName="w-full sm:w-96"
        />
        <Check
          label={t('newBackend.needsKey')}
          className="sm:mt-8"
          checked={needsKey}
          onChange={(event) => onEnter({ ...entered, needsKey: event.target.checked })}
        />
        <Button type="submit" className="sm:mt-6.5">
          {t('newBackend.next')}
        </Button>
      </Form>
    </Card>
  );
}
