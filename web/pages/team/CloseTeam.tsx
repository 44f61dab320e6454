import { useState } from 'react';
import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { formatExactUsd } from '../../lib/money.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { FormError } from '../../ui/States.tsx';
import { toast } from '../../ui/Toast.tsx';
import { MEMBERSHIP_READS, type Team } from './team.ts';

interface CloseTeamProps {
  readonly name: string;
  readonly closing: NonNullable<Team['closing']>;
}

export function CloseTeam({ name, closing }: CloseTeamProps) {
  const { t } = useTranslation();
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <Button small onClick={() => setAsking(true)}>
        {t('team.close')}
      </Button>
      {isAsking ? <CloseDialog name={name} closing={closing} onClose={() => setAsking(false)} /> : null}
    </>
  );
}

/** Tells what happens to tokens and money before the team is closed. */
function CloseDialog({ name, closing, onClose }: CloseTeamProps & { readonly onClose: () => void }) {
  const { t, i18n } = useTranslation();
  const close = useAction(async () => await call('POST /api/console/team/close', { body: {} }), {
    refresh: MEMBERSHIP_READS,
    refreshOnConflict: MEMBERSHIP_READS,
    onDone: () => toast(t('team.closed')),
  });
  const usd = (amount: string): string => formatExactUsd(amount, i18n.language);
  const { returnedUsd, returnedTo, lostUsd, blockedBy } = closing;
  return (
    <Dialog
      open
      onClose={onClose}
      title={t('team.closeTitle', { team: name })}
      footer={
        <>
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button
            kind="danger"
            busy={close.isPending}
            disabled={blockedBy !== null}
            onClick={() => close.mutate()}
          >
            {t('team.closeGo')}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        {blockedBy ? (
          <p role="alert" className="rounded-md border border-bad-line bg-bad-soft px-3 py-2 text-bad">
            {t(`team.closeBlocked.${blockedBy}`)}
          </p>
        ) : null}
        <ul className="flex list-disc flex-col gap-1.5 pl-5 text-ink-2 marker:text-ink-3">
          <li>{t('team.closeTokens')}</li>
          <li>{t('team.closeMoney', { amount: usd(returnedUsd), owner: returnedTo })}</li>
          {Number(lostUsd) > 0 ? <li>{t('team.closeLost', { amount: usd(lostUsd) })}</li> : null}
          <li>{t('team.closeStatements')}</li>
        </ul>
        <FormError error={close.error} />
      </div>
    </Dialog>
  );
}
