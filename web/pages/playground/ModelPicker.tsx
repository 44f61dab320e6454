import X from 'lucide-react/icons/x';
import type { ModelItem } from '../../lib/answers.ts';
import { classes } from '../../lib/classes.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { IconButton } from '../../ui/Button.tsx';
import { Picker } from '../../ui/Combobox.tsx';
import { SelectField } from '../../ui/Field.tsx';
import { choiceOf, groupModels } from '../models/group.ts';

interface ModelPickerProps {
  readonly models: readonly ModelItem[];
  readonly value: string;
  readonly onChange: (choice: string) => void;
  readonly hideLabel?: boolean;
  /** Where pickers stand side by side: each has its endpoint, so that what is below them is level. */
  readonly keepsEndpoint?: boolean;
  /** The endpoint stands beside the model where there is room. */
  readonly isRow?: boolean;
}

/**
 * Each model once; those that cannot serve now are shown but cannot be chosen. Which of its endpoints is asked is a second
 * choice, where there are several.
 */
export function ModelPicker({
  models,
  value,
  onChange,
  hideLabel = false,
  keepsEndpoint = false,
  isRow = false,
}: ModelPickerProps) {
  const { t } = useTranslation();
  const groups = groupModels(models);
  const chosen = groups.find(({ offers }) => offers.some((offer) => choiceOf(offer) === value));
  return (
    <div
      className={classes(
        'flex min-w-0 flex-col gap-2',
        isRow && 'sm:flex-row sm:gap-4 sm:*:w-80 sm:*:min-w-0',
      )}
    >
      <Picker
        label={t('playground.model')}
        hideLabel={hideLabel}
        value={chosen ? choiceOf(chosen.best) : value}
        onChange={onChange}
        options={groups.map(({ best, offers }) => ({
          value: choiceOf(best),
          label: best.displayName,
          group: offers.length === 1 ? `${best.endpointName} · ${best.endpoint}` : t('models.atSeveral'),
          disabled: best.unavailable !== null,
        }))}
      />
      {chosen && (keepsEndpoint || chosen.offers.length > 1) ? (
        <SelectField
          label={t('models.endpoint')}
          hideLabel={hideLabel}
          value={value}
          disabled={chosen.offers.length === 1}
          onChange={(event) => onChange(event.target.value)}
        >
          {chosen.offers.map((offer) => (
            <option key={choiceOf(offer)} value={choiceOf(offer)} disabled={offer.unavailable !== null}>
              {offer.endpointName} · {offer.endpoint}
            </option>
          ))}
        </SelectField>
      ) : null}
    </div>
  );
}

interface ColumnModelProps {
  readonly models: readonly ModelItem[];
  readonly model: ModelItem;
  readonly onChange: (choice: string) => void;
  /** Absent: the column stays. */
  readonly onRemove: (() => void) | undefined;
}

/** The head of a column in a comparison: its model, and a way to remove the column. */
export function ColumnModel({ models, model, onChange, onRemove }: ColumnModelProps) {
  const { t } = useTranslation();
  return (
    <div className="flex items-center gap-2 border-b border-line p-3">
      <div className="min-w-0 flex-1">
        <ModelPicker hideLabel keepsEndpoint models={models} value={choiceOf(model)} onChange={onChange} />
      </div>
      {onRemove ? (
        <IconButton label={t('playground.removeColumn', { model: model.displayName })} onClick={onRemove}>
          <X size={15} aria-hidden />
        </IconButton>
      ) : null}
    </div>
  );
}
