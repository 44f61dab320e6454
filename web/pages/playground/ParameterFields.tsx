import { useTranslation } from '../../lib/translation.tsx';
import { Field, Textarea, TextField } from '../../ui/Field.tsx';
import type { Draft } from './recipe.ts';

interface ParameterFieldsProps {
  readonly draft: Draft;
  readonly change: (next: Partial<Draft>) => void;
}

export function ParameterFields({ draft, change }: ParameterFieldsProps) {
  const { t } = useTranslation();
  const number = (
    field: 'temperature' | 'topP' | 'maxTokens' | 'seed',
    range: { min?: number; max?: number; step?: number },
  ) => (
    <TextField
      label={t(`playground.${field}`)}
      type="number"
      inputMode="decimal"
      placeholder={t('playground.default')}
      value={draft[field]}
      onChange={(event) => change({ [field]: event.target.value })}
      {...range}
    />
  );
  return (
    <div className="flex flex-col gap-4">
      <Field label={t('playground.system')} hint={t('playground.systemHint')}>
        {(ids) => (
          <Textarea
            {...ids}
            rows={4}
            value={draft.system}
            onChange={(event) => change({ system: event.target.value })}
          />
        )}
      </Field>
      <div className="grid grid-cols-2 gap-3">
        {number('temperature', { min: 0, max: 2, step: 0.1 })}
        {number('topP', { min: 0, max: 1, step: 0.05 })}
        {number('maxTokens', { min: 1, step: 1 })}
        {number('seed', { step: 1 })}
      </div>
      <TextField
        label={t('playground.stop')}
        hint={t('playground.stopHint')}
        value={draft.stop}
        onChange={(event) => change({ stop: event.target.value })}
      />
    </div>
  );
}
