import type { ModelItem } from '../../lib/answers.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Picker } from '../../ui/Combobox.tsx';
import { choiceOf } from './recipe.ts';

interface ModelPickerProps {
  readonly models: readonly ModelItem[];
  readonly value: string;
  readonly onChange: (choice: string) => void;
  readonly hideLabel?: boolean;
}

/** Models under their endpoints; those that cannot serve now are shown but cannot be chosen. */
export function ModelPicker({ models, value, onChange, hideLabel = false }: ModelPickerProps) {
  const { t } = useTranslation();
  return (
    <Picker
      label={t('playground.model')}
      hideLabel={hideLabel}
      value={value}
      onChange={onChange}
      options={models.map((model) => ({
        value: choiceOf(model),
        label: model.displayName,
        group: `${model.endpointName} · ${model.endpoint}`,
        disabled: model.unavailable !== null,
      }))}
    />
  );
}
