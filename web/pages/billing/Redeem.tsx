import { useState } from 'react';
import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { formatExactUsd } from '../../lib/money.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { BALANCE_READS, useWallet } from '../../lib/wallet.ts';
import { Button } from '../../ui/Button.tsx';
import { TextField } from '../../ui/Field.tsx';
import { Form } from '../../ui/Form.tsx';

/** Four groups of four, in every language. */
const CODE_LOOKS_LIKE = '0000-0000-0000-0000';

export function Redeem() {
  const { wallet } = useWallet();
  const { t, i18n } = useTranslation();
  const [code, setCode] = useState('');
  const redeem = useAction(
    async () => await call('POST /api/console/redeem', { body: { code: code.trim() }, query: { wallet } }),
    {
      refresh: [...BALANCE_READS, 'GET /api/console/entries'],
      onDone: () => setCode(''),
    },
  );
  return (
    <Form onSubmit={() => redeem.mutate()}>
      <div className="flex items-start gap-2">
        <TextField
          label={t('billing.code')}
          hideLabel
          required
          placeholder={CODE_LOOKS_LIKE}
          autoComplete="off"
          spellCheck={false}
          className="font-mono"
          fieldClassName="flex-1"
          value={code}
          error={redeem.error?.message}
          onChange={(event) => setCode(event.target.value)}
        />
        <Button type="submit" kind="primary" busy={redeem.isPending} disabled={code.trim() === ''}>
          {t('billing.redeemGo')}
        </Button>
      </div>
      <p role="status" className="mt-2 text-accent">
        {redeem.data
          ? t('billing.redeemed', {
              amount: formatExactUsd(redeem.data.amountUsd, i18n.language),
              balance: formatExactUsd(redeem.data.balanceUsd, i18n.language),
            })
          : ''}
      </p>
    </Form>
  );
}
