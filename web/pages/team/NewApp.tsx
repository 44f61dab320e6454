import { useId } from 'react';
import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { useForm } from '../../lib/form.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { TextField } from '../../ui/Field.tsx';
import { FormError } from '../../ui/States.tsx';
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
  const formId = useId();
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
    <Dialog
      open
      title={t('team.newAppTitle')}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button kind="primary" type="submit" form={formId} busy={make.isPending}>
            {t('team.makeApp')}
          </Button>
        </>
      }
    >
      <form
        id={formId}
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (!isAmountWrong(values)) make.mutate();
        }}
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
        <FormError error={make.error} />
      </form>
    </Dialog>
  );
}
