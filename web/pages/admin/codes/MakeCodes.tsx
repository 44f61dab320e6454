import type { AdminMadeCodes } from '../../../../src/console/contract.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { useForm } from '../../../lib/form.ts';
import { formatExactUsd, multiply, parseUsd } from '../../../lib/money.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Dialog } from '../../../ui/Dialog.tsx';
import { TextField } from '../../../ui/Field.tsx';
import { FormError } from '../../../ui/States.tsx';
import { Form } from '../../../ui/Form.tsx';

export function MakeCodes({
  onMade,
  onClose,
}: {
  onMade: (codes: AdminMadeCodes) => void;
  onClose: () => void;
}) {
  const { t, i18n } = useTranslation();
  const { values, field } = useForm({ amount: '', count: '1', batch: '', expires: '' });
  const amountUsd = parseUsd(values.amount);
  const wrong = values.amount !== '' && (amountUsd === undefined || amountUsd.startsWith('-'));
  const count = Math.max(1, Math.min(1000, Math.floor(Number(values.count)) || 1));
  const make = useAction(
    async () =>
      await call('POST /api/console/admin/codes', {
        body: {
          amountUsd: amountUsd ?? '0',
          count,
          ...(values.batch.trim() ? { batch: values.batch.trim() } : {}),
          expiresAt: values.expires ? endOfDay(values.expires) : null,
        },
      }),
    { refresh: ['GET /api/console/admin/codes'], onDone: onMade },
  );
  const error = wrong ? t('settings.badAmount') : undefined;
  return (
    <Dialog open title={t('codes.makeTitle')} onClose={onClose}>
      <Form onSubmit={() => !wrong && make.mutate()}>
        <div className="grid grid-cols-2 gap-3">
          <TextField
            label={t('codes.amount')}
            inputMode="decimal"
            required
            autoFocus
            placeholder="10.00"
            error={error}
            {...field('amount')}
          />
          <TextField label={t('codes.count')} type="number" min={1} max={1000} required {...field('count')} />
        </div>
        <TextField label={t('codes.batch')} maxLength={60} {...field('batch')} />
        <TextField label={t('codes.expires')} type="date" {...field('expires')} />
        <FormError error={make.error} />
        <div className="flex items-center justify-between gap-3">
          <p className="text-ink-3">
            {amountUsd && !wrong
              ? t('codes.total', { amount: formatExactUsd(multiply(amountUsd, count), i18n.language) })
              : ''}
          </p>
          <Button type="submit" kind="primary" busy={make.isPending}>
            {t('codes.make')}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

/** A code that is valid until a day is valid during it. */
function endOfDay(day: string): number {
  return new Date(`${day}T23:59:59`).getTime();
}
