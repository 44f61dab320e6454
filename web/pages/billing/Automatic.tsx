import type { TFunction } from 'i18next';
import type { CardPayments } from '../../lib/answers.ts';
import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { useForm } from '../../lib/form.ts';
import { formatUsd, parseUsd } from '../../lib/money.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { useWallet } from '../../lib/wallet.ts';
import { Button } from '../../ui/Button.tsx';
import { Card } from '../../ui/Card.tsx';
import { SelectField, TextField } from '../../ui/Field.tsx';
import { Form } from '../../ui/Form.tsx';
import { FormError } from '../../ui/States.tsx';
import { toast } from '../../ui/Toast.tsx';
import { reasonText } from './PaymentHistory.tsx';

type AutomaticTopUp = NonNullable<CardPayments['automatic']>;

const CHANGED = ['GET /api/console/payments'] as const;

/** The saved card, and automatic top-up below a threshold. */
export function Automatic({ payments }: { payments: CardPayments }) {
  const { wallet } = useWallet();
  const { t, i18n } = useTranslation();
  const addCard = useAction(
    async () => await call('POST /api/console/payments/card', { body: {}, query: { wallet } }),
    {
      onDone: ({ url }) => location.assign(url),
    },
  );
  const removeCard = useAction(
    async () => await call('POST /api/console/payments/card/remove', { body: {}, query: { wallet } }),
    { refresh: CHANGED },
  );
  const { automatic } = payments;
  return (
    <Card title={t('payments.automatic')} hint={t('payments.automaticHint')}>
      {automatic ? (
        <p className={automatic.offReason === null ? 'mb-4 text-ink-2' : 'mb-4 text-bad'}>
          {stateText(automatic, t, i18n.language)}
        </p>
      ) : null}
      {payments.hasCard ? (
        <>
          <RuleForm payments={payments} />
          <div className="mt-5 flex flex-wrap items-center gap-3 border-t border-line pt-4 text-sm">
            <span className="text-ink-2">{t('payments.hasCard')}</span>
            <Button small busy={removeCard.isPending} onClick={() => removeCard.mutate()}>
              {t('payments.removeCard')}
            </Button>
          </div>
        </>
      ) : (
        <div className="flex flex-col items-start gap-3">
          <p className="text-ink-2">{t('payments.noCard')}</p>
          <Button busy={addCard.isPending} disabled={!payments.canPay} onClick={() => addCard.mutate()}>
            {t('payments.addCard')}
          </Button>
        </div>
      )}
      <FormError error={addCard.error ?? removeCard.error} />
    </Card>
  );
}

function RuleForm({ payments }: { payments: CardPayments }) {
  const { wallet } = useWallet();
  const { t, i18n } = useTranslation();
  const { automatic, amountsUsd } = payments;
  const { values, field } = useForm({
    threshold: automatic?.thresholdUsd ?? '5.00',
    amount: automatic?.amountUsd ?? amountsUsd[0] ?? '',
    monthlyMax: automatic?.monthlyMaxUsd ?? '100.00',
  });
  const thresholdUsd = parseUsd(values.threshold);
  const monthlyMaxUsd = parseUsd(values.monthlyMax);
  const save = useAction(
    async () =>
      await call('PUT /api/console/payments/automatic', {
        query: { wallet },
        body: {
          thresholdUsd: thresholdUsd ?? '',
          amountUsd: values.amount,
          monthlyMaxUsd: monthlyMaxUsd ?? '',
        },
      }),
    { refresh: CHANGED, onDone: () => toast(t('common.saved')) },
  );
  const isOn = automatic?.enabled === true;
  const wrong = (value: string | undefined): string | undefined =>
    value === undefined ? t('payments.badAmount') : undefined;
  return (
    <Form className="flex flex-col gap-4" onSubmit={() => thresholdUsd && monthlyMaxUsd && save.mutate()}>
      <div className="grid gap-3 sm:grid-cols-3">
        <TextField
          label={t('payments.threshold')}
          inputMode="decimal"
          required
          error={wrong(thresholdUsd)}
          {...field('threshold')}
        />
        <SelectField label={t('payments.each')} {...field('amount')}>
          {amountsUsd.map((amount) => (
            <option key={amount} value={amount}>
              {formatUsd(amount, i18n.language)}
            </option>
          ))}
        </SelectField>
        <TextField
          label={t('payments.monthlyMax')}
          inputMode="decimal"
          required
          error={wrong(monthlyMaxUsd)}
          {...field('monthlyMax')}
        />
      </div>
      <FormError error={save.error} />
      <div className="flex flex-wrap gap-2">
        <Button type="submit" kind="primary" busy={save.isPending} disabled={!payments.canPay}>
          {isOn ? t('payments.change') : t('payments.turnOn')}
        </Button>
        {isOn ? <TurnOff /> : null}
      </div>
    </Form>
  );
}

function TurnOff() {
  const { t } = useTranslation();
  const { wallet } = useWallet();
  const stop = useAction(
    async () => await call('POST /api/console/payments/automatic/stop', { body: {}, query: { wallet } }),
    { refresh: CHANGED },
  );
  return (
    <>
      <Button busy={stop.isPending} onClick={() => stop.mutate()}>
        {t('payments.turnOff')}
      </Button>
      <FormError error={stop.error} />
    </>
  );
}

function stateText(automatic: AutomaticTopUp, t: TFunction, language: string): string {
  const { enabled, running, offReason, monthUsedUsd, monthlyMaxUsd } = automatic;
  if (running) return t('payments.isRunning');
  if (enabled) {
    const used = formatUsd(monthUsedUsd, language);
    return t('payments.isOn', { used, max: formatUsd(monthlyMaxUsd, language) });
  }
  if (offReason === null) return t('payments.isOff');
  const reason = reasonText(offReason, t);
  const isReversal = offReason === 'refund' || offReason === 'dispute';
  return isReversal ? t('payments.stoppedBy', { reason }) : t('payments.turnedOff', { reason });
}
