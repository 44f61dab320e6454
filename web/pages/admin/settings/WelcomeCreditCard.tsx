import type { AdminWelcomeCredit } from '../../../../src/console/contract.ts';
import { useAction } from '../../../lib/action.ts';
import { call, useApi } from '../../../lib/api.ts';
import { useForm } from '../../../lib/form.ts';
import { approximate, formatUsd } from '../../../lib/money.ts';
import { useSession } from '../../../lib/session.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Card } from '../../../ui/Card.tsx';
import { TextField } from '../../../ui/Field.tsx';
import { Form } from '../../../ui/Form.tsx';
import { FormError, Loaded, Skeleton } from '../../../ui/States.tsx';
import { toast } from '../../../ui/Toast.tsx';

const MAX_USD = 100;

/** What new customers get; it is money, so it is saved on its own and asks for the password. */
export function WelcomeCreditCard() {
  const { t } = useTranslation();
  const settings = useApi('GET /api/console/admin/welcome-credit', undefined, { staleTime: Infinity });
  return (
    <Card title={t('welcome.title')} hint={t('welcome.hint')}>
      <Loaded query={settings} skeleton={<Skeleton className="h-24 w-full" />}>
        {(data) => <WelcomeCreditForm settings={data} />}
      </Loaded>
    </Card>
  );
}

function WelcomeCreditForm({ settings }: { settings: AdminWelcomeCredit }) {
  const { t, i18n } = useTranslation();
  const sendsMail = useSession().data?.sendsMail ?? true;
  const { values, field } = useForm({ amountUsd: settings.amountUsd, perDay: String(settings.perDay) });
  const amountUsd = values.amountUsd.trim().replace(',', '.');
  const isWrong = !/^\d{1,3}(\.\d{1,9})?$/.test(amountUsd) || Number(amountUsd) > MAX_USD;
  const save = useAction(
    () =>
      call('PUT /api/console/admin/welcome-credit', { body: { amountUsd, perDay: Number(values.perDay) } }),
    {
      refresh: ['GET /api/console/admin/welcome-credit'],
      onDone: (saved) =>
        toast(
          approximate(saved.amountUsd) === 0
            ? t('welcome.off')
            : t('welcome.on', { amount: formatUsd(saved.amountUsd, i18n.language) }),
        ),
    },
  );
  return (
    <Form className="flex flex-col gap-4" onSubmit={() => !isWrong && save.mutate()}>
      <div className="grid max-w-xl gap-3 sm:grid-cols-2">
        <TextField
          label={t('welcome.amount')}
          hint={t('welcome.amountHint')}
          inputMode="decimal"
          required
          error={isWrong ? t('welcome.badAmount') : undefined}
          {...field('amountUsd')}
        />
        <TextField
          label={t('welcome.perDay')}
          hint={t('welcome.perDayHint')}
          type="number"
          min={1}
          max={10_000}
          required
          {...field('perDay')}
        />
      </div>
      {sendsMail ? null : <p className="text-sm text-warn">{t('welcome.noMail')}</p>}
      <FormError error={save.error} />
      <Button type="submit" busy={save.isPending} disabled={isWrong} className="self-start">
        {t('common.save')}
      </Button>
    </Form>
  );
}
