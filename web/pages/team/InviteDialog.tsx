import { useState } from 'react';
import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { useForm } from '../../lib/form.ts';
import { publicOrigin } from '../../lib/browser.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { CopyButton } from '../../ui/Copy.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { BudgetFields } from './LimitFields.tsx';
import { RoleField } from './RoleDialog.tsx';
import { budgetBody, isAmountWrong, TEAM_READS, type Period, type Team, type TeamRole } from './team.ts';

const BUDGET: { amount: string; per: Period } = { amount: '20.00', per: 'month' };

export function InviteDialog({ team, onClose }: { team: Team; onClose: () => void }) {
  const [link, setLink] = useState<string>();
  return link === undefined ? (
    <InviteForm team={team} onMade={setLink} onClose={onClose} />
  ) : (
    <InviteLink link={link} onClose={onClose} />
  );
}

interface InviteFormProps {
  readonly team: Team;
  readonly onMade: (link: string) => void;
  readonly onClose: () => void;
}

function InviteForm({ team, onMade, onClose }: InviteFormProps) {
  const { t } = useTranslation();
  const [role, setRole] = useState<TeamRole>('member');
  const { values, field } = useForm(BUDGET);
  const spends = role !== 'viewer';
  const invite = useAction(
    async () => {
      const body = { role, budget: spends ? budgetBody(values) : null };
      return await call('POST /api/console/team/invites', { body });
    },
    {
      refresh: TEAM_READS,
      // After the #, so that no server sees or logs it.
      onDone: ({ secret }) => onMade(`${publicOrigin()}/app/team#${secret}`),
    },
  );
  return (
    <FormDialog
      title={t('team.inviteTitle')}
      go={t('team.inviteGo')}
      action={invite}
      onSubmit={() => {
        if (!isAmountWrong(values)) invite.mutate();
      }}
      onClose={onClose}
    >
      <p className="text-ink-2">{t('team.inviteLead')}</p>
      <RoleField team={team} role={role} onChange={setRole} />
      {spends ? <BudgetFields values={values} field={field} /> : null}
      {spends && values.amount.trim() === '' ? (
        <p className="text-sm text-warn">{t('team.inviteNoBudget')}</p>
      ) : null}
    </FormDialog>
  );
}

function InviteLink({ link, onClose }: { link: string; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Dialog
      open
      insistent
      title={t('team.inviteMade')}
      onClose={onClose}
      footer={
        <>
          <CopyButton small={false} text={link} />
          <Button kind="primary" onClick={onClose}>
            {t('common.done')}
          </Button>
        </>
      }
    >
      <p className="mb-3 text-ink-2">{t('team.inviteMadeLead')}</p>
      <code
        data-testid="invite"
        className="block rounded-md border border-accent bg-accent-soft p-4 break-all select-all"
      >
        {link}
      </code>
    </Dialog>
  );
}
