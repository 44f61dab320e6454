import { useState } from 'react';
import { useAction } from '../../lib/action.ts';
import { callAuth } from '../../lib/api.ts';
import { useUser } from '../../lib/session.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Card } from '../../ui/Card.tsx';
import { TextField } from '../../ui/Field.tsx';
import { FormError } from '../../ui/States.tsx';
import { toast } from '../../ui/Toast.tsx';
import { Form } from '../../ui/Form.tsx';

export function PasswordCard() {
  const { t } = useTranslation();
  const { hasPassword, email } = useUser();
  const [currentPassword, setCurrent] = useState('');
  const [newPassword, setNew] = useState('');
  const change = useAction(
    async () => await callAuth('POST /api/auth/change-password', { currentPassword, newPassword }),
    {
      refresh: ['GET /api/console/sessions', 'GET /api/console/session'],
      onDone: () => {
        setCurrent('');
        setNew('');
        toast(t('settings.passwordChanged'));
      },
    },
  );
  return (
    <Card title={t('settings.password')}>
      {hasPassword ? (
        <Form onSubmit={() => change.mutate()}>
          <input type="text" autoComplete="username" value={email} readOnly hidden />
          <TextField
            label={t('settings.currentPassword')}
            type="password"
            autoComplete="current-password"
            required
            value={currentPassword}
            onChange={(event) => setCurrent(event.target.value)}
          />
          <TextField
            label={t('settings.newPassword')}
            hint={t('auth.passwordHint')}
            type="password"
            autoComplete="new-password"
            required
            minLength={8}
            maxLength={128}
            value={newPassword}
            onChange={(event) => setNew(event.target.value)}
          />
          <FormError error={change.error} />
          <Button type="submit" busy={change.isPending} className="self-start">
            {t('settings.changePassword')}
          </Button>
        </Form>
      ) : (
        <p className="text-ink-3">{t('settings.noPassword')}</p>
      )}
    </Card>
  );
}
