import { useState } from 'react';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { TextField } from '../../ui/Field.tsx';
import { FormError } from '../../ui/States.tsx';
import { Form } from '../../ui/Form.tsx';

interface PasswordDialogProps {
  readonly error: Error | null;
  readonly busy: boolean;
  readonly onPassword: (password: string) => void;
  readonly onClose: () => void;
}

export function PasswordDialog({ error, busy, onPassword, onClose }: PasswordDialogProps) {
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
