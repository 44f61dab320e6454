import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { useForm } from '../../lib/form.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { TextField } from '../../ui/Field.tsx';
import type { MadeToken } from './AppToken.tsx';
import { BudgetFields, TokenFields } from './LimitFields.tsx';
import { isAmountWrong, limitsBody, TEAM_READS, type LimitValues } from './team.ts';

const EMPTY: LimitValues & { name: string } = {
  name: '',
  amount: '10.00',
  per: 'month',
  models: '',
  networks: '',
  lastDay: '',
};

interface NewAppProps {
  readonly onMade: (made: MadeToken) => void;
  readonly onClose: () => void;
}

export function NewApp({ onMade, onClose }: NewAppProps) {
  const { t } = useTranslation();
  const { values, field } = useForm(EMPTY);
  const make = useAction(
    async () =>
      await call('POST /api/console/team/apps', {
        body: { ...limitsBody(values), name: values.name.trim() },
      }),
    {
      refresh: TEAM_READS,
      onDone: ({ token, app }) => {
        onClose();
        onMade({ token, name: app.name, models: app.limits.models });
      },
    },
  );
  return (
    <FormDialog
      title={t('team.newAppTitle')}
      go={t('team.makeApp')}
      action={make}
      onSubmit={() => {
        if (!isAmountWrong(values)) make.mutate();
      }}
      onClose={onClose}
    >
      <p className="text-ink-2">{t('team.newAppLead')}</p>
      <TextField
        label={t('team.appName')}
        hint={t('team.appNameHint')}
        required
        autoFocus
        maxLength={64}
        {...field('name')}
      />
      <BudgetFields values={values} field={field} />
      <TokenFields field={field} />
    </FormDialog>
  );
}
