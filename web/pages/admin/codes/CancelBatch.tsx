import { useState } from 'react';
import type { AdminCodeBatch } from '../../../../src/console/contract.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { AskDialog } from '../../../ui/AskDialog.tsx';
import { Button } from '../../../ui/Button.tsx';
import { toast } from '../../../ui/Toast.tsx';

/** Makes the codes of a batch worthless that nobody has redeemed. */
export function CancelBatch({ batch: { batch, open } }: { batch: AdminCodeBatch }) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState(false);
  const cancel = useAction(
    async () => await call('POST /api/console/admin/codes/{id}/cancel', { params: { id: batch }, body: {} }),
    {
      refresh: ['GET /api/console/admin/codes'],
      onDone: ({ cancelled }) => toast(t('codes.cancelled', { count: cancelled })),
    },
  );
  return (
    <>
      <Button small kind="ghost" busy={cancel.isPending} onClick={() => setAsking(true)}>
        {t('codes.cancel')}
      </Button>
      <AskDialog
        open={asking}
        title={t('codes.cancelTitle', { batch })}
        go={t('codes.cancelGo')}
        onGo={() => cancel.mutate()}
        onClose={() => setAsking(false)}
      >
        {t('codes.cancelLead', { count: open })}
      </AskDialog>
    </>
  );
}
