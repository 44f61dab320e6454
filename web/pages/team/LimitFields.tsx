import type { ChangeEvent } from 'react';
import { useTranslation } from '../../lib/translation.tsx';
import { Field, SelectField, Textarea, TextField } from '../../ui/Field.tsx';
import { isAmountWrong, PERIODS, type LimitValues } from './team.ts';

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

type FieldOf<Name extends string> = (name: Name) => {
  value: string;
  onChange: (event: ChangeEvent<Control>) => void;
};

interface BudgetFieldsProps {
  readonly values: Pick<LimitValues, 'amount'>;
  readonly field: FieldOf<'amount' | 'per'>;
}

export function BudgetFields({ values, field }: BudgetFieldsProps) {
  const { t } = useTranslation();
  return (
    <div className="grid gap-3 sm:grid-cols-[1fr_11rem]">
      <TextField
        label={t('team.amount')}
        inputMode="decimal"
        placeholder="10.00"
        hint={t('team.amountHint')}
        error={isAmountWrong(values) ? t('team.badAmount') : undefined}
        {...field('amount')}
      />
      <SelectField label={t('team.per')} {...field('per')}>
        {PERIODS.map((per) => (
          <option key={per} value={per}>
            {t(`team.pers.${per}`)}
          </option>
        ))}
      </SelectField>
    </div>
  );
}

interface TokenFieldsProps {
  readonly field: FieldOf<'models' | 'lastDay' | 'networks'>;
  readonly withNetworks?: boolean;
}

/** What a token may be used for. */
export function TokenFields({ field, withNetworks = false }: TokenFieldsProps) {
  const { t } = useTranslation();
  return (
    <>
      <Field label={t('team.models')} hint={t('team.modelsHint')}>
        {(ids) => (
          <Textarea {...ids} rows={2} spellCheck={false} className="font-mono" {...field('models')} />
        )}
      </Field>
      <TextField label={t('team.lastDay')} type="date" hint={t('team.lastDayHint')} {...field('lastDay')} />
      {withNetworks ? (
        <Field label={t('team.networks')} hint={t('team.networksHint')}>
          {(ids) => (
            <Textarea {...ids} rows={2} spellCheck={false} className="font-mono" {...field('networks')} />
          )}
        </Field>
      ) : null}
    </>
  );
}
