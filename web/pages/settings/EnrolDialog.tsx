import { useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { useAction } from '../../lib/action.ts';
import { callAuth } from '../../lib/api.ts';
import { refreshSession } from '../../lib/query.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { CopyIconButton } from '../../ui/Copy.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { TextField } from '../../ui/Field.tsx';
import { FormError } from '../../ui/States.tsx';
import { toast } from '../../ui/Toast.tsx';
import { CodeList } from './BackupCodes.tsx';
import { QrCode } from './QrCode.tsx';
import { Form } from '../../ui/Form.tsx';

interface EnrolDialogProps {
  readonly totpURI: string;
  readonly backupCodes: readonly string[];
  readonly onClose: () => void;
}

export function EnrolDialog({ totpURI, backupCodes, onClose }: EnrolDialogProps) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [code, setCode] = useState('');
  const verify = useAction(
    async () => {
      await callAuth('POST /api/auth/two-factor/verify-totp', { code: code.replace(/\s/g, '') });
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
