import { useId } from 'react';
import { useAction } from '../../lib/action.ts';
import { call, type ReadRoute } from '../../lib/api.ts';
import { useForm } from '../../lib/form.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { FormError } from '../../ui/States.tsx';
import { toast } from '../../ui/Toast.tsx';
import { BudgetFields, TokenFields } from './LimitFields.tsx';
import {
  isAmountWrong,
  limitsBody,
  limitValues,
  TEAM_READS,
  type LimitsBody,
  type TeamAccount,
} from './team.ts';

const ROUTES = {
  app: 'POST /api/console/team/apps/{id}/limits',
  member: 'POST /api/console/team/members/{id}/limits',
} as const;

export function AccountLimits({ account, onClose }: { account: TeamAccount; onClose: () => void }) {
  const { t } = useTranslation();
  const save = async (body: LimitsBody) =>
    await call(ROUTES[account.kind], { params: { id: account.id }, body });
  return (
    <LimitsDialog
      title={t('team.limitsTitle', { name: account.name })}
      limited={account}
      save={save}
      refresh={TEAM_READS}
      onClose={onClose}
    />
  );
}

interface LimitsDialogProps {
  readonly title: string;
  readonly limited: Pick<TeamAccount, 'budget' | 'limits'>;
  readonly save: (body: LimitsBody) => Promise<unknown>;
  readonly refresh: readonly ReadRoute[];
  readonly onClose: () => void;
}

export function LimitsDialog({ title, limited, save: send, refresh, onClose }: LimitsDialogProps) {
  const { t } = useTranslation();
  const formId = useId();
  const { values, field } = useForm(limitValues(limited));
  const save = useAction(async () => await send(limitsBody(values)), {
    refresh,
    onDone: () => {
      toast(t('team.saved'));
      onClose();
    },
  });
  return (
    <Dialog
      open
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button kind="primary" type="submit" form={formId} busy={save.isPending}>
            {t('team.save')}
          </Button>
        </>
      }
    >
      <form
        id={formId}
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (!isAmountWrong(values)) save.mutate();
        }}
      >
        <BudgetFields values={values} field={field} />
        <TokenFields field={field} withNetworks />
        <FormError error={save.error} />
      </form>
    </Dialog>
  );
}
