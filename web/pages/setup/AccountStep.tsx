import { useQueryClient } from '@tanstack/react-query';
import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { useForm } from '../../lib/form.ts';
import { refreshSession } from '../../lib/query.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { TextField } from '../../ui/Field.tsx';
import { FormError } from '../../ui/States.tsx';
import { NewPasswordField } from '../auth/PasswordField.tsx';
import { Form } from '../../ui/Form.tsx';

export function AccountStep({ token, onDone }: { token: string; onDone: () => void }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const { values, field } = useForm({ email: '', password: '', name: '' });
  const create = useAction(
    async () => {
      await call('POST /api/console/setup', { body: { token, ...values, email: values.email.trim() } });
      await refreshSession(client);
    },
    { onDone },
  );
  const weak = create.error?.code === 'weak_password';
  return (
    <Form onSubmit={() => create.mutate()}>
      <p className="mb-2 text-ink-2">{t('setup.accountLead')}</p>
      <TextField
        label={t('auth.email')}
        type="email"
        name="email"
        autoComplete="username"
        autoFocus
        required
        {...field('email')}
      />
      <NewPasswordField error={weak ? create.error?.message : undefined} {...field('password')} />
      <TextField label={t('auth.name')} name="name" autoComplete="name" maxLength={100} {...field('name')} />
      <FormError error={weak ? undefined : create.error} />
      <Button type="submit" kind="primary" busy={create.isPending} className="self-start">
        {t('setup.create')}
      </Button>
    </Form>
  );
}
