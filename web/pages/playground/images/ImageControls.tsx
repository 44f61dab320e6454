import Dices from 'lucide-react/icons/dices';
import type { ModelItem } from '../../../lib/answers.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { IconButton } from '../../../ui/Button.tsx';
import { Field, Input, SelectField, Textarea, TextField } from '../../../ui/Field.tsx';
import { controlsOf, CUSTOM_SIZE, sizeOf, wrongSize, type DraftField, type ImageDraft } from './order.ts';

interface ControlsProps {
  readonly model: ModelItem;
  readonly draft: ImageDraft;
  readonly onChange: (field: DraftField, value: string) => void;
}

/** The options that the model supports, and no others. */
export function ImageControls({ model, draft, onChange }: ControlsProps) {
  const { t } = useTranslation();
  const { values } = draft;
  const controls = controlsOf(model, values);
  return (
    <div className="grid grid-cols-2 gap-3">
      <SizeFields model={model} draft={draft} onChange={onChange} />
      {controls.mostImages > 1 ? (
        <SelectField
          label={t('playground.count')}
          value={values.n ?? '1'}
          onChange={(event) => onChange('n', event.target.value)}
        >
          {Array.from({ length: controls.mostImages }, (_, index) => (
            <option key={index}>{index + 1}</option>
          ))}
        </SelectField>
      ) : null}
      {controls.lists.map(({ field, values: known }) => (
        <SelectField
          key={field}
          label={t(`studio.${field}`)}
          value={known.includes(values[field] ?? '') ? values[field] : ''}
          onChange={(event) => onChange(field, event.target.value)}
        >
          <option value="">{t('playground.default')}</option>
          {known.map((value) => (
            <option key={value}>{value}</option>
          ))}
        </SelectField>
      ))}
      {controls.compression ? (
        <CompressionField value={values.output_compression ?? ''} onChange={onChange} />
      ) : null}
      {controls.mostPartials > 0 ? (
        <SelectField
          label={t('studio.partial_images')}
          value={values.partial_images ?? '0'}
          onChange={(event) => onChange('partial_images', event.target.value)}
        >
          {Array.from({ length: controls.mostPartials + 1 }, (_, count) => (
            <option key={count} value={count}>
              {count === 0 ? t('studio.noPreviews') : count}
            </option>
          ))}
        </SelectField>
      ) : null}
      {controls.seed ? <SeedField value={values.seed ?? ''} onChange={onChange} /> : null}
      {controls.negativePrompt ? (
        <Field label={t('studio.negative_prompt')} className="col-span-2">
          {(ids) => (
            <Textarea
              {...ids}
              rows={2}
              maxLength={32_000}
              placeholder={t('studio.negativePlaceholder')}
              value={values.negative_prompt ?? ''}
              onChange={(event) => onChange('negative_prompt', event.target.value)}
            />
          )}
        </Field>
      ) : null}
    </div>
  );
}

/** An aspect ratio or a resolution determines the size, which is then shown but cannot be chosen. */
function SizeFields({ model, draft, onChange }: ControlsProps) {
  const { t } = useTranslation();
  const { values } = draft;
  const { sizes, range, lists } = controlsOf(model, values);
  const isNamed = lists.some(
    ({ field, values: known }) =>
      (field === 'aspect_ratio' || field === 'resolution') && known.includes(values[field] ?? ''),
  );
  const isCustom = !isNamed && range !== null && values.size === CUSTOM_SIZE;
  const size = sizeOf(draft, model);
  const shown = isNamed && !sizes.includes(size) ? [...sizes, size] : sizes;
  const edge = (field: 'width' | 'height') => (
    <TextField
      label={t(`studio.${field}`)}
      type="number"
      inputMode="numeric"
      min={range?.min_edge}
      max={range?.max_edge}
      step={range?.step}
      value={values[field] ?? ''}
      onChange={(event) => onChange(field, event.target.value)}
    />
  );
  return (
    <>
      <SelectField
        label={t('playground.size')}
        value={isCustom ? CUSTOM_SIZE : size}
        disabled={isNamed}
        onChange={(event) => onChange('size', event.target.value)}
      >
        {shown.map((value) => (
          <option key={value} value={value}>
            {value.replace('x', ' × ')}
          </option>
        ))}
        {range ? <option value={CUSTOM_SIZE}>{t('studio.customSize')}</option> : null}
      </SelectField>
      {isCustom ? (
        <div className="col-span-2 grid grid-cols-2 gap-3">
          {edge('width')}
          {edge('height')}
          <RangeNote model={model} draft={draft} />
        </div>
      ) : null}
    </>
  );
}

function RangeNote({ model, draft }: Pick<ControlsProps, 'model' | 'draft'>) {
  const { t } = useTranslation();
  const range = model.abilities?.size_range;
  if (!range) return null;
  const isWrong = draft.values.width && draft.values.height && wrongSize(draft, model) !== undefined;
  return (
    <p
      role={isWrong ? 'alert' : undefined}
      className={`col-span-2 text-sm ${isWrong ? 'text-bad' : 'text-ink-3'}`}
    >
      {t('studio.range', {
        least: range.min_edge,
        most: range.max_edge,
        step: range.step,
        ratio: range.max_ratio,
      })}
    </p>
  );
}

interface ValueFieldProps {
  readonly value: string;
  readonly onChange: ControlsProps['onChange'];
}

function CompressionField({ value, onChange }: ValueFieldProps) {
  const { t } = useTranslation();
  return (
    <TextField
      label={t('studio.output_compression')}
      type="number"
      min={0}
      max={100}
      inputMode="numeric"
      placeholder="100"
      value={value}
      onChange={(event) => onChange('output_compression', event.target.value)}
    />
  );
}

function SeedField({ value, onChange }: ValueFieldProps) {
  const { t } = useTranslation();
  return (
    <Field label={t('playground.seed')} className="col-span-2" hint={t('studio.seedHint')}>
      {(ids) => (
        <span className="flex gap-1.5">
          <Input
            {...ids}
            type="number"
            inputMode="numeric"
            step={1}
            placeholder={t('studio.random')}
            value={value}
            onChange={(event) => onChange('seed', event.target.value)}
          />
          <IconButton
            label={t('studio.newSeed')}
            className="size-9 border border-line"
            onClick={() => onChange('seed', '')}
          >
            <Dices size={16} aria-hidden />
          </IconButton>
        </span>
      )}
    </Field>
  );
}
