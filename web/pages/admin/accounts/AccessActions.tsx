import { useState } from 'react';
import type { Answer } from '../../../../src/console/contract/routes.ts';
import type { SignedInUser } from '../../../lib/answers.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { formatExactUsd } from '../../../lib/money.ts';
import { publicOrigin, randomKey } from '../../../lib/browser.ts';
import { useUser } from '../../../lib/session.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Dialog, AskDialog } from '../../../ui/Dialog.tsx';
import { Button } from '../../../ui/Button.tsx';
import { TextField } from '../../../ui/Field.tsx';
import { Changeable } from '../../../ui/Form.tsx';
import { FormError } from '../../../ui/States.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { PersonRole } from '../operators/OperatorsPage.tsx';
import { SecretDialog } from '../SecretDialog.tsx';
import { ACCOUNT_READS } from './refresh.ts';

type AdminAccountDetail = Answer<'GET /api/console/admin/accounts/{id}'>;

const ROUTES = {
  disable: 'POST /api/console/admin/accounts/{id}/disable',
  enable: 'POST /api/console/admin/accounts/{id}/enable',
  allowCards: 'POST /api/console/admin/accounts/{id}/allow-cards',
  revokeToken: 'POST /api/console/admin/accounts/{id}/revoke-token',
  resetLink: 'POST /api/console/admin/accounts/{id}/reset-link',
  resetPassword: 'POST /api/console/admin/accounts/{id}/reset-password',
} as const;

type AccessAction = keyof typeof ROUTES;

const RIGHTS = {
  disable: 'change_accounts',
  enable: 'change_accounts',
  allowCards: 'change_accounts',
  revokeToken: 'end_tokens',
  resetLink: 'make_tokens',
  resetPassword: 'make_tokens',
} as const;

/** Destructive actions say what will happen and ask first; the others run directly. */
const WARNINGS = {
  disable: 'disableLead',
  revokeToken: 'revokeLead',
  resetPassword: 'resetLead',
} as const;

export function AccessActions({ account }: { account: AdminAccountDetail }) {
  const { t } = useTranslation();
  const { rights } = useUser();
  const [asking, setAsking] = useState<keyof typeof WARNINGS>();
  const [shown, setShown] = useState<{
    readonly action: 'resetLink' | 'resetPassword';
    readonly secret: string;
  }>();
  const act = useAction(
    async (action: AccessAction) => {
      const answer = await call(ROUTES[action], { params: { id: account.id }, body: {} });
      if ('password' in answer) setShown({ action: 'resetPassword', secret: answer.password });
      else if ('token' in answer) setShown({ action: 'resetLink', secret: linkOf(answer.token) });
      else toast(t('accounts.done'));
    },
    { refresh: ACCOUNT_READS },
  );
  if (account.isRemoved) return <p className="text-ink-2">{t('accounts.isRemoved')}</p>;
  const actions = actionsFor(account, rights);
  if (actions.length === 0) return null;
  return (
    <section>
      <h3 className="mb-3 font-semibold">{t('accounts.access')}</h3>
      <div className="flex flex-wrap gap-2">
        {actions.map((name) => (
          <Button
            key={name}
            small
            busy={act.isPending && act.variables === name}
            className={name === 'disable' ? 'text-bad!' : ''}
            onClick={() => (name in WARNINGS ? setAsking(name as keyof typeof WARNINGS) : act.mutate(name))}
          >
            {t(`accounts.${name}`)}
          </Button>
        ))}
        <Changeable right="make_accounts" otherwise={null}>
          <RemoveAccount account={account} />
        </Changeable>
      </div>
      {rights.includes('change_operators') ? <PersonRole account={account} /> : null}
      <div className="mt-2">
        <FormError error={act.error} />
      </div>
      {asking ? (
        <AskDialog
          open
          title={t(`accounts.${asking}`)}
          go={t(`accounts.${asking}`)}
          onGo={() => act.mutate(asking)}
          onClose={() => setAsking(undefined)}
        >
          {t(`accounts.${WARNINGS[asking]}`)}
        </AskDialog>
      ) : null}
      {shown ? (
        <SecretDialog
          title={t(shown.action === 'resetLink' ? 'accounts.resetLinkMade' : 'accounts.resetDone')}
          lead={t(shown.action === 'resetLink' ? 'accounts.resetLinkLead' : 'accounts.madeLead', {
            email: account.email,
          })}
          secret={shown.secret}
          onClose={() => setShown(undefined)}
        />
      ) : null}
    </section>
  );
}

/** What can be done now, and by this role. */
function actionsFor(account: AdminAccountDetail, rights: SignedInUser['rights']): AccessAction[] {
  const possible: AccessAction[] = [
    account.status === 'active' ? 'disable' : 'enable',
    ...(account.cardsOff ? (['allowCards'] as const) : []),
    ...(account.tokenHint ? (['revokeToken'] as const) : []),
    ...(account.status === 'active' ? (['resetLink'] as const) : []),
    ...(account.hasSignIn ? (['resetPassword'] as const) : []),
  ];
  return possible.filter((name) => rights.includes(RIGHTS[name]));
}

/** The token comes after the `#`, which browsers do not send. */
function linkOf(token: string): string {
  return `${publicOrigin()}/reset-password#${token}`;
}

/** Removal cannot be undone, so it asks first; with a remaining balance it needs a reason. */
function RemoveAccount({ account }: { account: AdminAccountDetail }) {
  const { t, i18n } = useTranslation();
  const [open, setOpen] = useState(false);
  const [reason, setReason] = useState('');
  const [key] = useState(randomKey);
  const hasBalance = Number(account.balanceUsd) > 0;
  const remove = useAction(
    async () => {
      await call('POST /api/console/admin/accounts/{id}/remove', {
        key,
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
      <Button small className="text-bad!" onClick={() => setOpen(true)}>
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
