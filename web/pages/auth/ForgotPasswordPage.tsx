import { useState } from 'react';
import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button, LinkButton } from '../../ui/Button.tsx';
import { TextField } from '../../ui/Field.tsx';
import { Form } from '../../ui/Form.tsx';
import { FormError } from '../../ui/States.tsx';
import { AuthFrame } from './AuthFrame.tsx';

/** Asks for a reset link by mail. The page says the same whether or not there is such an account. */
export default function ForgotPasswordPage() {
  const { t } = useTranslation();
  const [email, setEmail] = useState('');
  const [sent, setSent] = useState(false);
  const send = useAction(
    async () => await call('POST /api/console/password-reset/send', { body: { email: email.trim() } }),
    { onDone: () => setSent(true) },
  );
  if (sent)
    return (
      <AuthFrame title={t('mailbox.forgotDoneTitle')} lead={t('mailbox.forgotDone')}>
        <LinkButton href="/sign-in">{t('mailbox.back')}</LinkButton>
      </AuthFrame>
    );
  return (
    <AuthFrame title={t('mailbox.forgotTitle')} lead={t('mailbox.forgotLead')}>
      <Form onSubmit={() => send.mutate()}>
        <TextField
          label={t('auth.email')}
          type="email"
          name="email"
          autoComplete="username"
          autoFocus
          required
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
        <FormError error={send.error} />
        <Button type="submit" kind="primary" busy={send.isPending} className="mt-1">
          {t('mailbox.forgotGo')}
        </Button>
      </Form>
    </AuthFrame>
  );
}
