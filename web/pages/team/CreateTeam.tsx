import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { useForm } from '../../lib/form.ts';
import { formatExactUsd, parseUsd } from '../../lib/money.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { TextField } from '../../ui/Field.tsx';
import { toast } from '../../ui/Toast.tsx';
import { isAmountWrong, MEMBERSHIP_READS } from './team.ts';

interface CreateTeamProps {
  readonly movableUsd: string;
  readonly onClose: () => void;
}

/** Says before it happens that the own token ends, and what others will see. */
export function CreateTeam({ movableUsd, onClose }: CreateTeamProps) {
  const { t, i18n } = useTranslation();
  const canMove = Number(movableUsd) > 0;
  const { values, field } = useForm({ name: '', amount: canMove ? movableUsd : '' });
  const wrong = isAmountWrong(values);
  const create = useAction(
    async () => {
      const moveUsd = parseUsd(values.amount);
      const body = { name: values.name.trim(), ...(moveUsd === undefined ? {} : { moveUsd }) };
      return await call('POST /api/console/team', { body });
    },
    {
      refresh: [...MEMBERSHIP_READS, 'GET /api/console/entries'],
      onDone: () => {
        toast(t('team.created'));
        onClose();
      },
    },
  );
  return (
    <FormDialog
      title={t('team.createTitle')}
      go={t('team.createGo')}
      action={create}
      onSubmit={() => {
        if (!wrong) create.mutate();
      }}
      onClose={onClose}
    >
      <TextField label={t('team.name')} required autoFocus maxLength={64} {...field('name')} />
      {canMove ? (
        <TextField
          label={t('team.move')}
          inputMode="decimal"
          hint={t('team.moveHint', { amount: formatExactUsd(movableUsd, i18n.language) })}
          error={wrong ? t('team.badAmount') : undefined}
          {...field('amount')}
        />
      ) : (
        <p className="text-sm text-ink-3">{t('team.moveNothing')}</p>
      )}
      <Consequences items={[t('team.tokenEnds'), t('team.createVisible'), t('team.createOwn')]} />
    </FormDialog>
  );
}

export function Consequences({ items }: { items: readonly string[] }) {
  const { t } = useTranslation();
  return (
    <div className="rounded-md border border-line bg-sunken px-4 py-3 text-sm">
      <p className="font-medium">{t('team.before')}</p>
      <ul className="mt-1.5 flex list-disc flex-col gap-1.5 pl-5 text-ink-2 marker:text-ink-3">
        {items.map((item) => (
          <li key={item}>{item}</li>
        ))}
      </ul>
    </div>
  );
}
