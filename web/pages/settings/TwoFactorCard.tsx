import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Answer } from '../../../src/console/contract/routes.ts';
import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { refreshSession } from '../../lib/query.ts';
import { useUser } from '../../lib/session.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Badge } from '../../ui/Badge.tsx';
import { Button } from '../../ui/Button.tsx';
import { Card } from '../../ui/Card.tsx';
import { CopyIconButton, CopyButton } from '../../ui/Copy.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { TextField } from '../../ui/Field.tsx';
import { Form } from '../../ui/Form.tsx';
import { FormError } from '../../ui/States.tsx';
import { toast } from '../../ui/Toast.tsx';
import { QrCode } from './QrCode.tsx';

type Enrolment = Answer<'POST /api/auth/two-factor/enable'>;

/** Turning the second factor on shows a secret and backup codes once; it takes effect after a code was verified. */
export function TwoFactorCard() {
  const { t } = useTranslation();
  const user = useUser();
  const client = useQueryClient();
  const [asking, setAsking] = useState<'enable' | 'disable' | 'codes'>();
  const [enrolment, setEnrolment] = useState<Enrolment>();
  const [codes, setCodes] = useState<string[]>();
  const act = useAction(
    async (password: string) => {
      if (asking === 'enable')
        setEnrolment(await call('POST /api/auth/two-factor/enable', { body: { password } }));
      else if (asking === 'codes')
        setCodes(
          (await call('POST /api/auth/two-factor/generate-backup-codes', { body: { password } })).backupCodes,
        );
      else {
        await call('POST /api/auth/two-factor/disable', { body: { password } });
        toast(t('settings.turnedOff'));
      }
      await refreshSession(client);
    },
    { onDone: () => setAsking(undefined) },
  );
  const ask = (what: typeof asking) => () => {
    act.reset();
    setAsking(what);
  };
  return (
    <Card
      title={t('settings.twoFactor')}
      actions={user.twoFactor ? <Badge tone="good">{t('settings.turnedOn')}</Badge> : null}
    >
      <p className="mb-4 text-ink-2">
        {user.twoFactor ? t('settings.twoFactorOn') : t('settings.twoFactorOff')}
      </p>
      <div className="flex flex-wrap gap-2">
        {user.twoFactor ? (
          <>
            <Button onClick={ask('codes')}>{t('settings.newCodes')}</Button>
            <Button kind="ghost" onClick={ask('disable')}>
              {t('settings.disable')}
            </Button>
          </>
        ) : (
          <Button onClick={ask('enable')} disabled={!user.hasPassword}>
            {t('settings.enable')}
          </Button>
        )}
      </div>
      {asking ? (
        <PasswordDialog
          error={act.error}
          busy={act.isPending}
          onPassword={(password) => act.mutate(password)}
          onClose={ask(undefined)}
        />
      ) : null}
      {enrolment ? <EnrolDialog {...enrolment} onClose={() => setEnrolment(undefined)} /> : null}
      {codes ? <BackupCodes codes={codes} onClose={() => setCodes(undefined)} /> : null}
    </Card>
  );
}

interface PasswordDialogProps {
  readonly error: Error | null;
  readonly busy: boolean;
  readonly onPassword: (password: string) => void;
  readonly onClose: () => void;
}

function PasswordDialog({ error, busy, onPassword, onClose }: PasswordDialogProps) {
  const { t } = useTranslation();
  const [password, setPassword] = useState('');
  return (
    <Dialog open title={t('settings.twoFactor')} onClose={onClose}>
      <Form onSubmit={() => onPassword(password)}>
        <p className="text-ink-2">{t('settings.enterPassword')}</p>
        <TextField
          label={t('auth.password')}
          type="password"
          autoComplete="current-password"
          autoFocus
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <FormError error={error} />
        <Button type="submit" kind="primary" busy={busy} className="self-end">
          {t('common.next')}
        </Button>
      </Form>
    </Dialog>
  );
}

interface EnrolDialogProps {
  readonly totpURI: string;
  readonly backupCodes: readonly string[];
  readonly onClose: () => void;
}

function EnrolDialog({ totpURI, backupCodes, onClose }: EnrolDialogProps) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [code, setCode] = useState('');
  const verify = useAction(
    async () => {
      await call('POST /api/auth/two-factor/verify-totp', { body: { code: code.replace(/\s/g, '') } });
      await refreshSession(client);
    },
    {
      onDone: () => {
        toast(t('settings.turnedOn'));
        onClose();
      },
    },
  );
  const secret = new URL(totpURI).searchParams.get('secret') ?? '';
  return (
    <Dialog open title={t('settings.scanTitle')} onClose={onClose}>
      <Form className="flex flex-col gap-5" onSubmit={() => verify.mutate()}>
        <div className="flex flex-wrap items-center gap-5">
          <QrCode text={totpURI} label={t('settings.qr')} />
          <div className="flex min-w-0 flex-1 basis-52 flex-col gap-2">
            <p className="text-sm text-ink-3">{t('settings.secret')}</p>
            <p className="flex items-start gap-2">
              <code className="flex-1 text-sm break-words">{secret.replaceAll(/(.{4})/g, '$1 ')}</code>
              <CopyIconButton text={secret} />
            </p>
            <p className="mt-2 text-ink-2">{t('settings.scanLead')}</p>
            <TextField
              label={t('auth.code')}
              inputMode="numeric"
              autoComplete="one-time-code"
              required
              className="font-mono tracking-widest"
              value={code}
              onChange={(event) => setCode(event.target.value)}
            />
          </div>
        </div>
        <FormError error={verify.error} />
        <div>
          <p className="font-medium">{t('settings.backupTitle')}</p>
          <p className="mb-2 text-sm text-ink-3">{t('settings.backupLead')}</p>
          <CodeList codes={backupCodes} />
        </div>
        <Button type="submit" kind="primary" busy={verify.isPending} className="self-end">
          {t('auth.verify')}
        </Button>
      </Form>
    </Dialog>
  );
}

function BackupCodes({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Dialog
      open
      insistent
      title={t('settings.backupTitle')}
      onClose={onClose}
      footer={
        <Button kind="primary" onClick={onClose}>
          {t('key.savedIt')}
        </Button>
      }
    >
      <p className="mb-3 text-ink-2">{t('settings.backupLead')}</p>
      <CodeList codes={codes} />
    </Dialog>
  );
}

function CodeList({ codes }: { codes: readonly string[] }) {
  return (
    <div className="rounded-md border border-line bg-sunken p-3">
      <ul className="grid grid-cols-2 gap-x-4 gap-y-1 font-mono text-sm">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="mt-3">
        <CopyButton text={codes.join('\n')} />
      </div>
    </div>
  );
}
