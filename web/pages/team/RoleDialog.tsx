import { useId, useState } from 'react';
import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { SelectField } from '../../ui/Field.tsx';
import { FormError } from '../../ui/States.tsx';
import { toast } from '../../ui/Toast.tsx';
import { givableRoles, MEMBERSHIP_READS, type Team, type TeamAccount, type TeamRole } from './team.ts';

interface RoleDialogProps {
  readonly team: Team;
  readonly account: TeamAccount;
  readonly onClose: () => void;
}

export function RoleDialog({ team, account, onClose }: RoleDialogProps) {
  const { t } = useTranslation();
  const formId = useId();
  const [role, setRole] = useState(account.role);
  const change = useAction(
    async () =>
      await call('POST /api/console/team/members/{id}/role', { params: { id: account.id }, body: { role } }),
    {
      refresh: MEMBERSHIP_READS,
      onDone: () => {
        toast(t('team.roleChanged'));
        onClose();
      },
    },
  );
  return (
    <Dialog
      open
      title={t('team.roleTitle', { name: account.name })}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button kind="primary" type="submit" form={formId} busy={change.isPending}>
            {t('team.roleSave')}
          </Button>
        </>
      }
    >
      <form
        id={formId}
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate();
        }}
      >
        <RoleField team={team} role={role} onChange={setRole} />
        {role === 'viewer' && account.tokenHint ? (
          <p className="text-ink-2">{t('team.viewerLosesToken')}</p>
        ) : null}
        <FormError error={change.error} />
      </form>
    </Dialog>
  );
}

interface RoleFieldProps {
  readonly team: Team;
  readonly role: TeamRole;
  readonly onChange: (role: TeamRole) => void;
}

export function RoleField({ team, role, onChange }: RoleFieldProps) {
  const { t } = useTranslation();
  const roles = givableRoles(team);
  return (
    <SelectField
      label={t('team.roleLabel')}
      hint={t(`team.roleAbout.${role}`)}
      value={role}
      onChange={({ target }) => onChange(roles.find((one) => one === target.value) ?? role)}
    >
      {roles.map((one) => (
        <option key={one} value={one}>
          {t(`team.roles.${one}`)}
        </option>
      ))}
    </SelectField>
  );
}
