import { useId } from 'react';
import { useAction } from '../../lib/action.ts';
import { call } from '../../lib/api.ts';
import { useForm } from '../../lib/form.ts';
import { formatExactUsd, parseUsd } from '../../lib/money.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { TextField } from '../../ui/Field.tsx';
import { FormError } from '../../ui/States.tsx';
import { toast } from '../../ui/Toast.tsx';
import { isAmountWrong, MEMBERSHIP_READS } from './team.ts';

interface CreateTeamProps {
  readonly movableUsd: string;
  readonly onClose: () => void;
}

/** Says before it happens that the own token ends, and what others will see. */
export function CreateTeam({ movableUsd, onClose }: CreateTeamProps) {
  const { t, i18n } = useTranslation();
  const formId = useId();
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
    <Dialog
      open
      title={t('team.createTitle')}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button kind="primary" type="submit" form={formId} busy={create.isPending}>
            {t('team.createGo')}
          </Button>
        </>
      }
    >
      <form
        id={formId}
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (!wrong) create.mutate();
        }}
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
        <FormError error={create.error} />
      </form>
    </Dialog>
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
