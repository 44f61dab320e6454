import { useState } from 'react';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { useForm } from '../../../lib/form.ts';
import { parseUsd } from '../../../lib/money.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Dialog } from '../../../ui/Dialog.tsx';
import { TextField } from '../../../ui/Field.tsx';
import { FormError } from '../../../ui/States.tsx';
import { SecretDialog } from '../SecretDialog.tsx';
import { ACCOUNT_READS } from './refresh.ts';
import { Form } from '../../../ui/Form.tsx';

export function NewAccount({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const { values, field } = useForm({ email: '', name: '', password: '', balance: '' });
  const [made, setMade] = useState<{ email: string; password: string }>();
  const balanceUsd = values.balance.trim() === '' ? undefined : parseUsd(values.balance);
  const wrong = values.balance.trim() !== '' && (balanceUsd === undefined || balanceUsd.startsWith('-'));
  const create = useAction(
    async () =>
      await call('POST /api/console/admin/accounts', {
        body: {
          email: values.email.trim(),
          ...(values.name.trim() ? { name: values.name.trim() } : {}),
          ...(values.password ? { password: values.password } : {}),
          ...(balanceUsd ? { balanceUsd } : {}),
        },
      }),
    {
      refresh: ACCOUNT_READS,
      onDone: ({ account, password }) => (password ? setMade({ email: account.email, password }) : onClose()),
    },
  );
  if (made) {
    const lead = t('accounts.madeLead', { email: made.email });
    return (
      <SecretDialog title={t('accounts.madeTitle')} lead={lead} secret={made.password} onClose={onClose} />
    );
  }
  const hint = t('accounts.passwordHint');
  const error = wrong ? t('settings.badAmount') : undefined;
  return (
    <Dialog open title={t('accounts.newTitle')} onClose={onClose}>
      <Form onSubmit={() => !wrong && create.mutate()}>
        <TextField
          label={t('accounts.email')}
          type="email"
          required
          autoFocus
          autoComplete="off"
          {...field('email')}
        />
        <TextField label={t('accounts.name')} autoComplete="off" {...field('name')} />
        <TextField
          label={t('accounts.password')}
          hint={hint}
          autoComplete="new-password"
          type="password"
          {...field('password')}
        />
        <TextField
          label={t('accounts.opening')}
          inputMode="decimal"
          placeholder="0.00"
          error={error}
          {...field('balance')}
        />
        <FormError error={create.error} />
        <Button type="submit" kind="primary" busy={create.isPending} className="self-end">
          {t('accounts.create')}
        </Button>
      </Form>
    </Dialog>
  );
}
