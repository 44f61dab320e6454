import { useRef, useState } from 'react';
import type { AdminProviders } from '../../../../lib/answers.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { Badge } from '../../../../ui/Badge.tsx';
import { Button } from '../../../../ui/Button.tsx';
import { Card } from '../../../../ui/Card.tsx';
import { Check, TextField } from '../../../../ui/Field.tsx';
import { Form } from '../../../../ui/Form.tsx';
import { ProviderMark } from '../ProviderMark.tsx';
import {
  listedProvider,
  localServer,
  ownServer,
  type ChosenProvider,
  type EnteredServer,
} from './provider.ts';
import { StepTitle } from './Step.tsx';

interface ProviderTilesProps {
  readonly providers: AdminProviders;
  readonly onChoose: (provider: ChosenProvider) => void;
  readonly entered: EnteredServer;
  readonly onEnter: (server: EnteredServer) => void;
}

export function ProviderTiles({ providers, ...own }: ProviderTilesProps) {
  const { onChoose, onEnter } = own;
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const form = useRef<HTMLDivElement>(null);
  // Only the operator knows the address of a server that does not answer on this machine.
  const enter = (server: LocalServer): void => {
    onEnter({ name: server.name, address: `http://${server.host}/v1`, needsKey: false });
    form.current?.scrollIntoView({ block: 'center' });
    form.current?.querySelector<HTMLInputElement>('input[inputmode=url]')?.focus();
  };
  const [running, others] = [
    providers.local.filter(({ models }) => models !== null),
    providers.local.filter(({ models }) => models === null),
  ];
  const tiles: readonly TileProps[] = [
    ...running.map((server) => ({
      ...server,
      note: `${server.host} · ${t('newBackend.models', { count: server.models ?? 0 })}`,
      badge: t('newBackend.local'),
      onClick: () => onChoose(localServer(server)),
    })),
    ...providers.items.map((provider) => ({
      ...provider,
      note: provider.host,
      badge: provider.hasKey ? t('newBackend.keyStored') : undefined,
      onClick: () => onChoose(listedProvider(provider)),
    })),
    ...others.map((server) => ({
      ...server,
      note: t('newBackend.notRunning', { host: server.host }),
      onClick: () => enter(server),
    })),
  ];
  const wanted = text.trim().toLowerCase();
  const shown = tiles.filter(({ name, title }) => `${name} ${title}`.toLowerCase().includes(wanted));
  return (
    <>
      <Card title={<StepTitle number={1} title={t('newBackend.providers')} />}>
        <TextField
          label={t('newBackend.search')}
          type="search"
          value={text}
          onChange={(event) => setText(event.target.value)}
          fieldClassName="mb-4 w-full sm:w-80"
        />
        {shown.length === 0 ? <p className="text-ink-3">{t('newBackend.noProvider')}</p> : null}
        <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3 xl:grid-cols-4">
          {shown.map((tile) => (
            <Tile key={tile.name} {...tile} />
          ))}
        </ul>
      </Card>
      <div ref={form}>
        <OwnServer {...own} />
      </div>
    </>
  );
}

type LocalServer = AdminProviders['local'][number];

interface TileProps {
  readonly name: string;
  readonly title: string;
  readonly note: string;
  readonly isAdded: boolean;
  readonly badge?: string | undefined;
  readonly onClick: () => void;
}

function Tile({ name, title, note, isAdded, badge, onClick }: TileProps) {
  const { t } = useTranslation();
  return (
    <li>
      <button
        type="button"
        onClick={onClick}
        className="flex h-full w-full min-w-0 items-center gap-3 rounded-md border border-line px-3 py-3 text-left transition-colors hover:border-ink-3 hover:bg-sunken"
      >
        <ProviderMark names={[name]} />
        <span className="flex min-w-0 flex-col gap-0.5">
          <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <span className="font-medium">{title}</span>
            {isAdded ? <Badge tone="good">{t('newBackend.added')}</Badge> : null}
            {badge && !isAdded ? <Badge>{badge}</Badge> : null}
          </span>
          <span className="truncate text-xs text-ink-3" title={note}>
            {note}
          </span>
        </span>
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
