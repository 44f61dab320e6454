import { useState } from 'react';
import { callAuth } from '../../lib/api.ts';
import { useAction } from '../../lib/action.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Check, TextField } from '../../ui/Field.tsx';
import { FormError } from '../../ui/States.tsx';
import { AuthFrame } from './AuthFrame.tsx';
import { Form } from '../../ui/Form.tsx';

/** The password was right; now the code of the app, or a backup code. */
export function SecondFactor({ onDone, onStartOver }: { onDone: () => void; onStartOver: () => void }) {
  const { t } = useTranslation();
  const [backup, setBackup] = useState(false);
  const [code, setCode] = useState('');
  const [trustDevice, setTrustDevice] = useState(false);
  const verify = useAction(
    async () =>
      backup
        ? await callAuth('POST /api/auth/two-factor/verify-backup-code', { code: code.trim() })
        : await callAuth('POST /api/auth/two-factor/verify-totp', {
            code: code.replace(/\s/g, ''),
            trustDevice,
          }),
    { onDone },
  );
  return (
    <AuthFrame
      title={t('auth.codeTitle')}
      lead={backup ? t('auth.backupLead') : t('auth.codeLead')}
      footer={
        <div className="flex flex-wrap gap-x-6 gap-y-2">
          <button
            type="button"
            className="text-accent underline underline-offset-2"
            onClick={() => setBackup(!backup)}
          >
            {backup ? t('auth.useTotp') : t('auth.useBackup')}
          </button>
          <button type="button" className="text-accent underline underline-offset-2" onClick={onStartOver}>
            {t('auth.startOver')}
          </button>
        </div>
      }
    >
      <Form onSubmit={() => verify.mutate()}>
        <TextField
          key={backup ? 'backup' : 'totp'}
          label={backup ? t('auth.backupCode') : t('auth.code')}
          autoComplete="one-time-code"
          inputMode={backup ? 'text' : 'numeric'}
          autoFocus
          required
          className="font-mono tracking-widest"
          value={code}
          onChange={(event) => setCode(event.target.value)}
        />
        {backup ? null : (
          <Check
            label={t('auth.trust')}
            checked={trustDevice}
            onChange={(event) => setTrustDevice(event.target.checked)}
          />
        )}
        <FormError error={verify.error} />
        <Button type="submit" kind="primary" busy={verify.isPending}>
          {t('auth.verify')}
        </Button>
      </Form>
    </AuthFrame>
  );
}
