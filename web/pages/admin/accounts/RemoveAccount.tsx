import { useState } from 'react';
import type { AdminAccountDetail } from '../../../../src/console/contract.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { formatExactUsd } from '../../../lib/money.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Dialog } from '../../../ui/Dialog.tsx';
import { TextField } from '../../../ui/Field.tsx';
import { FormError } from '../../../ui/States.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { ACCOUNT_READS } from './refresh.ts';

/** Cannot be undone, so it asks; a balance that is left needs a reason. */
export function RemoveAccount({ account }: { account: AdminAccountDetail }) {
  const { t, i18n } = useTranslation();
  const [open, setOpen] = useState(false);
  const [reason, setReason] = useState('');
  const hasBalance = Number(account.balanceUsd) > 0;
  const remove = useAction(
    async () => {
      await call('POST /api/console/admin/accounts/{id}/remove', {
        params: { id: account.id },
        body: reason.trim() === '' ? {} : { reason: reason.trim() },
      });
      setOpen(false);
      toast(t('accounts.removed'));
    },
    { refresh: ACCOUNT_READS },
  );
  return (
    <>
      <Button small className="text-bad" onClick={() => setOpen(true)}>
        {t('accounts.remove')}
      </Button>
      <Dialog
        open={open}
        onClose={() => setOpen(false)}
        title={t('accounts.remove')}
        footer={
          <>
            <Button onClick={() => setOpen(false)}>{t('common.cancel')}</Button>
            <Button
              kind="danger"
              busy={remove.isPending}
              disabled={hasBalance && reason.trim() === ''}
              onClick={() => remove.mutate()}
            >
              {t('accounts.remove')}
            </Button>
          </>
        }
      >
        <p className="text-ink-2">{t('accounts.removeLead', { email: account.email })}</p>
        {hasBalance ? (
          <div className="mt-4">
            <TextField
              label={t('accounts.removeReason', {
                balance: formatExactUsd(account.balanceUsd, i18n.language),
              })}
              value={reason}
              maxLength={200}
              onChange={(event) => setReason(event.target.value)}
            />
          </div>
        ) : null}
        <div className="mt-2">
          <FormError error={remove.error} />
        </div>
      </Dialog>
    </>
  );
}
