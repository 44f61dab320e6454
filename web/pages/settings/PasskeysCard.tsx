import Pencil from 'lucide-react/icons/pencil';
import { useState } from 'react';
import type { ItemOf } from '../../../src/console/contract/routes.ts';
import { useAction } from '../../lib/action.ts';
import { call, useApi } from '../../lib/api.ts';
import { formatRelative, useNow } from '../../lib/time.ts';
import { createPasskey, PasskeyCancelled, PasskeyExists, passkeysMissing } from '../../lib/passkey.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Dialog, AskDialog } from '../../ui/Dialog.tsx';
import { Button, IconButton } from '../../ui/Button.tsx';
import { Card } from '../../ui/Card.tsx';
import { TextField } from '../../ui/Field.tsx';
import { Form } from '../../ui/Form.tsx';
import { FormError, Loaded, Skeleton } from '../../ui/States.tsx';
import { toast } from '../../ui/Toast.tsx';

type PasskeyItem = ItemOf<'GET /api/console/passkeys'>;

export function PasskeysCard() {
  const { t } = useTranslation();
  const passkeys = useApi('GET /api/console/passkeys');
  const missing = passkeysMissing();
  return (
    <Card title={t('settings.passkeys')}>
      <p className="mb-4 text-ink-2">{t('settings.passkeysLead')}</p>
      <Loaded query={passkeys} skeleton={<Skeleton className="h-16 w-full" />}>
        {({ items }) => (
          <>
            {items.length > 0 ? (
              <ul className="-mt-2 mb-4 divide-y divide-line">
                {items.map((item) => (
                  <PasskeyLine key={item.id} item={item} />
                ))}
              </ul>
            ) : null}
            {missing ? (
              <p className="text-sm text-ink-3">
                {t(missing === 'name' ? 'settings.passkeysNeedName' : 'settings.passkeysNeedBrowser')}
              </p>
            ) : (
              <AddPasskey />
            )}
          </>
        )}
      </Loaded>
    </Card>
  );
}

function AddPasskey() {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const add = useAction(
    async (name: string) => {
      const options = await call('POST /api/auth/passkey/generate-register-options');
      const response = await createPasskey(options).catch((error: unknown) => {
        if (error instanceof PasskeyExists) throw new Error(t('settings.passkeyExists'));
        if (error instanceof PasskeyCancelled) throw new Error(t('auth.passkeyCancelled'));
        throw error;
      });
      await call('POST /api/auth/passkey/verify-registration', { body: { name, response } });
    },
    {
      refresh: ['GET /api/console/passkeys'],
      onDone: () => {
        setOpen(false);
        toast(t('settings.passkeyAdded'));
      },
    },
  );
  return (
    <>
      <Button
        onClick={() => {
          add.reset();
          setOpen(true);
        }}
      >
        {t('settings.addPasskey')}
      </Button>
      {open ? (
        <PasskeyNameDialog
          title={t('settings.addPasskey')}
          lead={t('settings.addPasskeyLead')}
          go={t('settings.createPasskey')}
          error={add.error}
          busy={add.isPending}
          onName={(name) => add.mutate(name)}
          onClose={() => setOpen(false)}
        />
      ) : null}
    </>
  );
}

interface PasskeyNameDialogProps {
  readonly title: string;
  readonly lead?: string;
  readonly name?: string;
  readonly go: string;
  readonly error: Error | null;
  readonly busy: boolean;
  readonly onName: (name: string) => void;
  readonly onClose: () => void;
}

/** Asks for the name of a passkey, by which its owner will know which device to remove. */
function PasskeyNameDialog(props: PasskeyNameDialogProps) {
  const { t } = useTranslation();
  const [name, setName] = useState(props.name ?? '');
  return (
    <Dialog open title={props.title} onClose={props.onClose}>
      <Form onSubmit={() => props.onName(name.trim())}>
        {props.lead ? <p className="text-ink-2">{props.lead}</p> : null}
        <TextField
          label={t('settings.passkeyName')}
          hint={t('settings.passkeyNameHint')}
          autoFocus
          autoComplete="off"
          required
          pattern=".*\S.*"
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <FormError error={props.error} />
        <div className="flex justify-end gap-2">
          <Button onClick={props.onClose}>{t('common.cancel')}</Button>
          <Button type="submit" kind="primary" busy={props.busy}>
            {props.go}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

function PasskeyLine({ item }: { item: PasskeyItem }) {
  const { t } = useTranslation();
  const [doing, setDoing] = useState<'rename' | 'remove'>();
  const params = { id: item.id };
  const rename = useAction(
    async (name: string) => await call('PATCH /api/console/passkeys/{id}', { params, body: { name } }),
    { refresh: ['GET /api/console/passkeys'], onDone: () => setDoing(undefined) },
  );
  const remove = useAction(async () => await call('DELETE /api/console/passkeys/{id}', { params }), {
    refresh: ['GET /api/console/passkeys'],
    onDone: () => toast(t('settings.passkeyRemoved')),
  });
  return (
    <li className="py-3">
      <div className="flex items-center gap-2">
        <PasskeyFacts item={item} />
        <IconButton
          label={t('settings.renamePasskey', { name: item.name })}
          onClick={() => {
            rename.reset();
            setDoing('rename');
          }}
        >
          <Pencil size={15} aria-hidden />
        </IconButton>
        <Button
          small
          kind="ghost"
          busy={remove.isPending}
          aria-label={t('settings.removePasskey', { name: item.name })}
          onClick={() => setDoing('remove')}
        >
          {t('settings.remove')}
        </Button>
      </div>
      <FormError error={remove.error} />
      {doing === 'rename' ? (
        <PasskeyNameDialog
          title={t('settings.rename')}
          go={t('common.save')}
          name={item.name}
          error={rename.error}
          busy={rename.isPending}
          onName={(name) => rename.mutate(name)}
          onClose={() => setDoing(undefined)}
        />
      ) : null}
      <AskDialog
        open={doing === 'remove'}
        title={t('settings.removePasskey', { name: item.name })}
        go={t('settings.remove')}
        onGo={() => remove.mutate()}
        onClose={() => setDoing(undefined)}
      >
        {t('settings.removePasskeyLead')}
      </AskDialog>
    </li>
  );
}

function PasskeyFacts({ item }: { item: PasskeyItem }) {
  const { t, i18n } = useTranslation();
  const now = useNow();
  const ago = (at: number): string => formatRelative(at, now, i18n.language);
  const use =
    item.usedAt === null
      ? t('settings.passkeyUnused', { when: ago(item.createdAt) })
      : t('settings.passkeyUsed', { when: ago(item.usedAt) });
  return (
    <div className="min-w-0 flex-1">
      <p className="truncate" title={item.name}>
        {item.name}
      </p>
      <p className="text-sm text-ink-3">
        {item.keeper ? `${item.keeper} · ` : ''}
        {use}
      </p>
    </div>
  );
}
