import { useAction } from '../../lib/action.ts';
import { call, type ReadRoute } from '../../lib/api.ts';
import { useForm } from '../../lib/form.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { FormDialog } from '../../ui/FormDialog.tsx';
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
  const { values, field } = useForm(limitValues(limited));
  const save = useAction(async () => await send(limitsBody(values)), {
    refresh,
    onDone: () => {
      toast(t('team.saved'));
      onClose();
    },
  });
  return (
    <FormDialog
      title={title}
      go={t('team.save')}
      action={save}
      onSubmit={() => {
        if (!isAmountWrong(values)) save.mutate();
      }}
      onClose={onClose}
    >
      <BudgetFields values={values} field={field} />
      <TokenFields field={field} withNetworks />
    </FormDialog>
  );
}
