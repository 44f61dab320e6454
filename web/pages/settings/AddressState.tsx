import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { useSession, useUser } from '../../lib/session.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Badge } from '../../ui/Badge.tsx';
import { Button } from '../../ui/Button.tsx';
import { FormError } from '../../ui/States.tsx';
import { toast } from '../../ui/Toast.tsx';

/** Whether the address is confirmed, where the server can send the mail for it. */
export function AddressState() {
  const { t } = useTranslation();
  const user = useUser();
  const sendsMail = useSession().data?.sendsMail ?? false;
  const send = useAction(async () => await call('POST /api/console/verify-email/send'), {
    onDone: () => toast(t('mailbox.verificationSent')),
  });
  if (user.emailVerified) return <Badge tone="good">{t('mailbox.verifiedBadge')}</Badge>;
  if (!sendsMail) return null;
  return (
    <div className="flex flex-col items-start gap-2 text-sm">
      <p className="text-ink-3">{t('mailbox.unverified')}</p>
      <Button small busy={send.isPending} onClick={() => send.mutate()}>
        {t('mailbox.sendVerification')}
      </Button>
      <FormError error={send.error} />
    </div>
  );
}
