import { useQuery, useQueryClient } from '@tanstack/react-query';
import { call, type ApiError } from '../../lib/api.ts';
import { refreshSession } from '../../lib/query.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Splash } from '../../shell/Loading.tsx';
import { LinkButton } from '../../ui/Button.tsx';
import { ErrorState } from '../../ui/States.tsx';
import { AuthFrame } from './AuthFrame.tsx';

/** The page of a link that confirms an email address. The token comes after the `#`, which browsers do not send. */
export default function VerifyEmailPage() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const token = location.hash.slice(1);
  const check = useQuery<{ verified: boolean }, ApiError>({
    queryKey: ['verify address', token],
    queryFn: async ({ signal }) => {
      const answer = await call('POST /api/console/verify-email', { body: { token }, signal });
      await refreshSession(client);
      return answer;
    },
    staleTime: Infinity,
  });
  if (!check.data && !check.error) return <Splash />;
  const lead = check.data?.verified === false ? t('mailbox.verifyInvalid') : '';
  return (
    <AuthFrame title={t('mailbox.verifyTitle')} lead={check.data?.verified ? t('mailbox.verified') : lead}>
      {check.error ? (
        <ErrorState error={check.error} onRetry={() => void check.refetch()} />
      ) : (
        <LinkButton href="/app" kind="primary">
          {t('mailbox.toConsole')}
        </LinkButton>
      )}
    </AuthFrame>
  );
}
