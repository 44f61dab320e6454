import { useState } from 'react';
import type { CardPayments } from '../../lib/answers.ts';
import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { formatUsd } from '../../lib/money.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { useWallet } from '../../lib/wallet.ts';
import { Button } from '../../ui/Button.tsx';
import { Card } from '../../ui/Card.tsx';
import { Check } from '../../ui/Field.tsx';
import { Form } from '../../ui/Form.tsx';
import { Segments } from '../../ui/Segments.tsx';
import { FormError } from '../../ui/States.tsx';

/** Choosing an amount; the card is entered on the payment provider's page. */
export function CardTopUp({ payments }: { payments: CardPayments }) {
  const { t, i18n } = useTranslation();
  const { wallet } = useWallet();
  const [chosen, setChosen] = useState(payments.amountsUsd[0] ?? '');
  const [saveCard, setSaveCard] = useState(false);
  const pay = useAction(
    async () =>
      await call('POST /api/console/payments/checkout', {
        body: { amountUsd: chosen, saveCard },
        query: { wallet },
      }),
    { onDone: ({ url }) => location.assign(url) },
  );
  const shown = (amount: string): string => formatUsd(amount, i18n.language);
  const hasReturned = new URLSearchParams(location.search).has('payment');
  return (
    <Card title={t('payments.topUp')} hint={t('payments.topUpHint')}>
      <Form className="flex flex-col items-start gap-4" onSubmit={() => pay.mutate()}>
        <Segments
          label={t('payments.amount')}
          value={chosen}
          onChange={setChosen}
          options={payments.amountsUsd.map((value) => ({ value, label: shown(value) }))}
        />
        {payments.hasCard ? null : (
          <Check
            label={t('payments.saveCard')}
            checked={saveCard}
            onChange={(event) => setSaveCard(event.target.checked)}
          />
        )}
        <FormError error={pay.error} />
        <Button type="submit" kind="primary" busy={pay.isPending} disabled={!payments.canPay}>
          {t('payments.pay', { amount: shown(chosen) })}
        </Button>
        <p role="status" className="text-accent">
          {hasReturned ? t('payments.returned') : ''}
        </p>
      </Form>
    </Card>
  );
}
