import { useQueryClient } from '@tanstack/react-query';
import type { SignUpMode } from '../../../src/console/contract.ts';
import { call } from '../../lib/api.ts';
import { useAction } from '../../lib/action.ts';
import { useForm } from '../../lib/form.ts';
import { refreshSession } from '../../lib/query.ts';
import { useSession } from '../../lib/session.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button, LinkButton } from '../../ui/Button.tsx';
import { AuthFrame, Contact, NewPasswordField } from './AuthFrame.tsx';
import { TextField } from '../../ui/Field.tsx';
import { Link } from '../../ui/Link.tsx';
import { FormError } from '../../ui/States.tsx';
import { SocialButtons } from './SocialButtons.tsx';
import { Form } from '../../ui/Form.tsx';

export default function SignUpPage() {
  const { t } = useTranslation();
  const session = useSession().data;
  const { search } = location;
  const mode = session?.signUp ?? 'open';
  if (mode === 'closed') {
    return (
      <AuthFrame title={t('auth.closedTitle')} lead={t('auth.closed')}>
        {session?.site.contact ? (
          <p className="mb-5 text-ink-3">
            {t('auth.contact')} <Contact text={session.site.contact} />
          </p>
        ) : null}
        <LinkButton href="/sign-in" kind="primary">
          {t('auth.signIn')}
        </LinkButton>
      </AuthFrame>
    );
  }
  return (
    <AuthFrame
      title={t('auth.signUpTitle')}
      lead={t('auth.signUpLead')}
      footer={
        <>
          {t('auth.haveAccount')}{' '}
          <Link href={`/sign-in${search}`} className="text-accent underline underline-offset-2">
            {t('auth.signIn')}
          </Link>
        </>
      }
    >
      {mode === 'open' ? <SocialButtons providers={session?.socialProviders ?? []} failed={false} /> : null}
      <SignUpForm mode={mode} invite={new URLSearchParams(search).get('invite') ?? ''} />
    </AuthFrame>
  );
}

function SignUpForm({ mode, invite }: { mode: SignUpMode; invite: string }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const { values, field } = useForm({ email: '', password: '', name: '', inviteCode: invite });
  const signUp = useAction(
    async () =>
      await call('POST /api/auth/sign-up/email', {
        body: {
          email: values.email.trim(),
          password: values.password,
          name: values.name.trim(),
          ...(values.inviteCode.trim() ? { inviteCode: values.inviteCode.trim() } : {}),
        },
      }),
    { onDone: () => void refreshSession(client) },
  );
  const weak = signUp.error?.code === 'weak_password';
  return (
    <Form onSubmit={() => signUp.mutate()}>
      {mode === 'invite' ? (
        <TextField label={t('auth.invite')} hint={t('auth.inviteHint')} required {...field('inviteCode')} />
      ) : null}
      <TextField
        label={t('auth.email')}
        type="email"
        name="email"
        autoComplete="username"
        autoFocus
        required
        {...field('email')}
      />
      <NewPasswordField error={weak ? signUp.error?.message : undefined} {...field('password')} />
      <TextField label={t('auth.name')} name="name" autoComplete="name" maxLength={100} {...field('name')} />
      <FormError error={weak ? undefined : signUp.error} />
      <Button type="submit" kind="primary" busy={signUp.isPending} className="mt-1">
        {t('auth.signUp')}
      </Button>
    </Form>
  );
}
