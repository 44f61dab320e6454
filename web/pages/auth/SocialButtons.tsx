import type { SessionState } from '../../lib/answers.ts';
import { call } from '../../lib/api.ts';
import { useAction } from '../../lib/action.ts';
import { nextPath } from '../../lib/nextPath.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { FormError } from '../../ui/States.tsx';

type SocialProvider = SessionState['socialProviders'][number];

const NAMES: Record<SocialProvider, string> = { github: 'GitHub', google: 'Google' };

export function SocialButtons({
  providers,
  failed,
}: {
  providers: readonly SocialProvider[];
  failed: boolean;
}) {
  const { t } = useTranslation();
  const go = useAction(
    async (provider: SocialProvider) =>
      await call('POST /api/auth/sign-in/social', {
        body: {
          provider,
          callbackURL: nextPath(),
          errorCallbackURL: '/sign-in?error=social',
        },
      }),
    { onDone: ({ url }) => location.assign(url) },
  );
  if (providers.length === 0) return null;
  return (
    <div className="mb-6 flex flex-col gap-2.5">
      {failed ? <FormError error={new Error(t('auth.socialFailed'))} /> : null}
      {providers.map((provider) => (
        <Button
          key={provider}
          busy={go.isPending && go.variables === provider}
          onClick={() => go.mutate(provider)}
        >
          {t('auth.with', { provider: NAMES[provider] })}
        </Button>
      ))}
      <FormError error={go.error} />
      <div className="mt-3 flex items-center gap-3 text-sm text-ink-3">
        <span className="h-px flex-1 bg-line" />
        {t('auth.or')}
        <span className="h-px flex-1 bg-line" />
      </div>
    </div>
  );
}
