import { useState } from 'react';
import { useLocation } from 'wouter';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { CopyButton } from '../../ui/Copy.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { Check } from '../../ui/Field.tsx';

/** The only time a token is shown. It cannot be closed by accident: the user first confirms that it is saved. */
export function ShownToken({ token, onClose }: { token: string; onClose: () => void }) {
  const { t } = useTranslation();
  const [saved, setSaved] = useState(false);
  const [location, navigate] = useLocation();
  return (
    <Dialog
      open
      insistent
      onClose={onClose}
      title={t('key.shownTitle')}
      footer={
        <>
          <Button disabled={!saved} onClick={onClose}>
            {t('common.done')}
          </Button>
          {location === '/app/quickstart' ? null : (
            <Button
              kind="primary"
              disabled={!saved}
              onClick={() => {
                onClose();
                navigate('/app/quickstart');
              }}
            >
              {t('key.toQuickstart')}
            </Button>
          )}
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <p className="text-ink-2">{t('key.shownLead')}</p>
        <code
          data-testid="token"
          className="block rounded-md border border-accent bg-accent-soft p-4 text-base break-all select-all"
        >
          {token}
        </code>
        <div className="flex flex-wrap items-center justify-between gap-3">
          <CopyButton kind="primary" small={false} text={token} />
          <Check
            label={t('key.savedIt')}
            checked={saved}
            onChange={(event) => setSaved(event.target.checked)}
          />
        </div>
      </div>
    </Dialog>
  );
}
