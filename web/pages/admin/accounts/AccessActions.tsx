import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { AdminAccountDetail } from '../../../../src/console/contract.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { AskDialog } from '../../../ui/AskDialog.tsx';
import { Button } from '../../../ui/Button.tsx';
import { FormError } from '../../../ui/States.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { SecretDialog } from '../SecretDialog.tsx';
import { ACCOUNT_READS } from './refresh.ts';

const ROUTES = {
  disable: 'POST /api/console/admin/accounts/{id}/disable',
  enable: 'POST /api/console/admin/accounts/{id}/enable',
  promote: 'POST /api/console/admin/accounts/{id}/promote',
  demote: 'POST /api/console/admin/accounts/{id}/demote',
  revokeToken: 'POST /api/console/admin/accounts/{id}/revoke-token',
  resetPassword: 'POST /api/console/admin/accounts/{id}/reset-password',
} as const;

type Deed = keyof typeof ROUTES;

/** Deeds that take something away say what will happen and ask first; the others just do it. */
const WARNINGS = {
  disable: 'disableLead',
  promote: 'promoteLead',
  revokeToken: 'revokeLead',
  resetPassword: 'resetLead',
} as const;

export function AccessActions({ account }: { account: AdminAccountDetail }) {
  const { t } = useTranslation();
  const [asking, setAsking] = useState<keyof typeof WARNINGS>();
  const [password, setPassword] = useState<string>();
  const act = useAction(
    async (deed: Deed) => {
      const answer = await call(ROUTES[deed], { params: { id: account.id }, body: {} });
      if ('password' in answer) setPassword(answer.password);
      else toast(t('accounts.done'));
    },
    { refresh: ACCOUNT_READS },
  );
  const deeds: Deed[] = [
    account.status === 'active' ? 'disable' : 'enable',
    account.role === 'admin' ? 'demote' : 'promote',
    ...(account.tokenHint ? (['revokeToken'] as const) : []),
    ...(account.hasSignIn ? (['resetPassword'] as const) : []),
  ];
  return (
    <section>
      <h3 className="mb-3 font-semibold">{t('accounts.access')}</h3>
      <div className="flex flex-wrap gap-2">
        {deeds.map((deed) => (
          <Button
            key={deed}
            small
            busy={act.isPending && act.variables === deed}
            className={deed === 'disable' ? 'text-bad' : ''}
            onClick={() => (deed in WARNINGS ? setAsking(deed as keyof typeof WARNINGS) : act.mutate(deed))}
          >
            {t(`accounts.${deed}`)}
          </Button>
        ))}
      </div>
      <div className="mt-2">
        <FormError error={act.error} />
      </div>
      {asking ? (
        <AskDialog
          open
          title={t(`accounts.${asking}`)}
          go={t(`accounts.${asking}`)}
          kind={asking === 'promote' ? 'primary' : 'danger'}
          onGo={() => act.mutate(asking)}
          onClose={() => setAsking(undefined)}
        >
          {t(`accounts.${WARNINGS[asking]}`)}
        </AskDialog>
      ) : null}
      {password ? (
        <SecretDialog
          title={t('accounts.resetDone')}
          lead={t('accounts.madeLead', { email: account.email })}
          secret={password}
          onClose={() => setPassword(undefined)}
        />
      ) : null}
    </section>
  );
}
