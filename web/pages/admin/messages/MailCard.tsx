import { useAction } from '../../../lib/action.ts';
import { call, useApi } from '../../../lib/api.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Card } from '../../../ui/Card.tsx';
import { FormError, Loaded, Skeleton } from '../../../ui/States.tsx';
import { toast } from '../../../ui/Toast.tsx';

/** How mail leaves, and a test that goes to whoever presses the button. */
export function MailCard() {
  const { t } = useTranslation();
  const state = useApi('GET /api/console/admin/mail');
  const test = useAction(async () => await call('POST /api/console/admin/mail/test'), {
    refresh: ['GET /api/console/admin/messages'],
    onDone: ({ error }) =>
      error === null ? toast(t('messages.mailOk')) : toast(t('messages.mailFailed', { error }), 'bad'),
  });
  return (
    <Card title={t('messages.mail')}>
      <Loaded query={state} skeleton={<Skeleton className="h-10 w-full" />}>
        {({ mail }) =>
          mail ? (
            <div className="flex flex-wrap items-center gap-3">
              <p className="min-w-0 flex-1 basis-60 break-all">{t('messages.mailOn', mail)}</p>
              <Button small busy={test.isPending} onClick={() => test.mutate()}>
                {t('messages.mailTest')}
              </Button>
            </div>
          ) : (
            <p className="text-ink-2">{t('messages.mailOff')}</p>
          )
        }
      </Loaded>
      <FormError error={test.error} />
    </Card>
  );
}
