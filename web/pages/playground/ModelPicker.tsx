import { useTranslation } from 'react-i18next';
import type { ModelItem } from '../../../src/console/contract.ts';
import { SelectField } from '../../ui/Field.tsx';
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
  const endpoints = [...new Map(models.map((model) => [model.endpoint, model.endpointName]))];
  return (
    <SelectField
      label={t('playground.model')}
      hideLabel={hideLabel}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      {endpoints.map(([endpoint, name]) => (
        <optgroup key={endpoint} label={`${name} · ${endpoint}`}>
          {models
            .filter((model) => model.endpoint === endpoint)
            .map((model) => (
              <option key={choiceOf(model)} value={choiceOf(model)} disabled={model.unavailable !== null}>
                {model.displayName}
              </option>
            ))}
        </optgroup>
      ))}
    </SelectField>
  );
}
