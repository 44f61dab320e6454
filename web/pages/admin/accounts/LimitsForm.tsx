import type { AdminAccountDetail } from '../../../../src/console/contract.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { useForm } from '../../../lib/form.ts';
import { parseUsd } from '../../../lib/money.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { TextField } from '../../../ui/Field.tsx';
import { FormError } from '../../../ui/States.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { ACCOUNT_READS } from './refresh.ts';
import { Form } from '../../../ui/Form.tsx';

const COUNTS = ['chatPerMinute', 'imagesPerMinute', 'concurrent'] as const;

export function LimitsForm({ account }: { account: AdminAccountDetail }) {
  const { t } = useTranslation();
  const { limits, defaults } = account;
  const { values, field } = useForm({
    chatPerMinute: limits.chatPerMinute?.toString() ?? '',
    imagesPerMinute: limits.imagesPerMinute?.toString() ?? '',
    concurrent: limits.concurrent?.toString() ?? '',
    monthlyUsd: limits.monthlyUsd ?? '',
  });
  const monthlyUsd = values.monthlyUsd.trim() === '' ? null : parseUsd(values.monthlyUsd);
  const wrong = monthlyUsd === undefined || monthlyUsd?.startsWith('-') === true;
  const save = useAction(
    async () => {
      const [chatPerMinute, imagesPerMinute, concurrent] = COUNTS.map((name) => whole(values[name]));
      const body = {
        chatPerMinute: chatPerMinute ?? null,
        imagesPerMinute: imagesPerMinute ?? null,
        concurrent: concurrent ?? null,
        monthlyUsd: monthlyUsd ?? null,
      };
      return await call('PATCH /api/console/admin/accounts/{id}/limits', {
        params: { id: account.id },
        body,
      });
    },
    { refresh: ACCOUNT_READS, onDone: () => toast(t('common.saved')) },
  );
  return (
    <Form className="flex flex-col items-start gap-3" onSubmit={() => !wrong && save.mutate()}>
      <div>
        <h3 className="font-semibold">{t('accounts.limits')}</h3>
        <p className="text-sm text-ink-3">{t('accounts.limitsHint')}</p>
      </div>
      <div className="grid w-full grid-cols-2 gap-3">
        {COUNTS.map((name) => (
          <TextField
            key={name}
            label={t(`accounts.${name}`)}
            type="number"
            min={1}
            step={1}
            placeholder={String(defaults[name])}
            {...field(name)}
          />
        ))}
        <TextField
          label={t('accounts.monthly')}
          inputMode="decimal"
          placeholder={t('common.unlimited')}
          error={wrong ? t('settings.badAmount') : undefined}
          {...field('monthlyUsd')}
        />
      </div>
      <FormError error={save.error} />
      <Button type="submit" small busy={save.isPending} disabled={wrong}>
        {t('accounts.saveLimits')}
      </Button>
    </Form>
  );
}

function whole(text: string): number | null {
  return text.trim() === '' ? null : Number(text);
}
