import { useState } from 'react';
import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { SelectField } from '../../ui/Field.tsx';
import { toast } from '../../ui/Toast.tsx';
import { givableRoles, MEMBERSHIP_READS, type Team, type TeamAccount, type TeamRole } from './team.ts';

interface RoleDialogProps {
  readonly team: Team;
  readonly account: TeamAccount;
  readonly onClose: () => void;
}

export function RoleDialog({ team, account, onClose }: RoleDialogProps) {
  const { t } = useTranslation();
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
    <FormDialog
      title={t('team.roleTitle', { name: account.name })}
      go={t('team.roleSave')}
      action={change}
      onSubmit={() => change.mutate()}
      onClose={onClose}
    >
      <RoleField team={team} role={role} onChange={setRole} />
      {role === 'viewer' && account.tokenHint ? (
        <p className="text-ink-2">{t('team.viewerLosesToken')}</p>
      ) : null}
    </FormDialog>
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
