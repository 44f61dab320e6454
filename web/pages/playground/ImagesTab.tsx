import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { ModelItem } from '../../../src/console/contract.ts';
import { useForm } from '../../lib/form.ts';
import { formatExactUsd, multiply } from '../../lib/money.ts';
import { Button } from '../../ui/Button.tsx';
import { Field, SelectField, Textarea } from '../../ui/Field.tsx';
import { Empty, FormError, Skeleton } from '../../ui/States.tsx';
import { Lightbox } from '../images/Lightbox.tsx';
import { PictureGrid } from '../images/PictureGrid.tsx';
import { imagePriceAt } from '../models/ModelPrice.tsx';
import { AnswerFacts } from './AnswerFacts.tsx';
import { MaxCost } from './MaxCost.tsx';
import { ModelPicker } from './ModelPicker.tsx';
import { choiceOf, chosenModel } from './recipe.ts';
import { useGenerate, type ImageOrder } from './useGenerate.ts';
import { Form } from '../../ui/Form.tsx';

const COUNTS = [1, 2, 3, 4] as const;

export function ImagesTab({ models, wanted }: { models: readonly ModelItem[]; wanted: string | undefined }) {
  const { t } = useTranslation();
  const { generate, results, forget } = useGenerate();
  const [open, setOpen] = useState<number>();
  return (
    <div className="grid gap-8 pb-16 lg:grid-cols-[20rem_minmax(0,1fr)]">
      <OrderForm
        models={models}
        wanted={wanted}
        busy={generate.isPending}
        error={generate.error}
        onOrder={(order) => generate.mutate(order)}
      />
      <section className="min-w-0" aria-live="polite" aria-busy={generate.isPending}>
        {generate.isPending ? (
          <div className="mb-4 grid grid-cols-2 gap-3 sm:grid-cols-3">
            {Array.from({ length: generate.variables.n }, (_, index) => (
              <Skeleton key={index} className="aspect-square w-full rounded-lg" />
            ))}
          </div>
        ) : null}
        {results.pictures.length === 0 && !generate.isPending ? (
          <Empty title={t('playground.imagesEmpty')}>{t('playground.imagesEmptyLead')}</Empty>
        ) : null}
        {results.receipt ? (
          <div className="mb-3 flex flex-wrap items-center gap-2">
            <AnswerFacts receipt={results.receipt} />
            <Button small kind="ghost" onClick={forget}>
              {t('common.close')}
            </Button>
          </div>
        ) : null}
        <PictureGrid pictures={results.pictures} onOpen={setOpen} />
        <p className="mt-4">
          <Link href="/app/images" className="text-accent underline-offset-2 hover:underline">
            {t('playground.toGallery')}
          </Link>
        </p>
      </section>
      {open === undefined ? null : <Lightbox pictures={results.pictures} index={open} onIndex={setOpen} />}
    </div>
  );
}

interface OrderFormProps {
  readonly models: readonly ModelItem[];
  readonly wanted: string | undefined;
  readonly busy: boolean;
  readonly error: Error | null;
  readonly onOrder: (order: ImageOrder) => void;
}

function OrderForm({ models, wanted, busy, error, onOrder }: OrderFormProps) {
  const { t } = useTranslation();
  const [choice, setChoice] = useState(wanted ?? '');
  const { values, field } = useForm({ prompt: '', size: '', n: '1', quality: '' });
  const model = chosenModel(models, choice);
  if (!model) return null;
  const { prompt } = values;
  const qualities = qualitiesOf(model);
  const quality = qualities.includes(values.quality) ? values.quality : '';
  const n = Number(values.n);
  const size = model.sizes.includes(values.size) ? values.size : (model.sizes[0] ?? '');
  const order = {
    endpoint: model.endpoint,
    model: model.model,
    prompt,
    n,
    size,
    ...(quality ? { quality } : {}),
  };
  const price = imagePriceAt(model, size);
  // By quality or by tokens, only a quote knows.
  const isOnButton = price !== undefined && qualities.length === 0;
  const placeholder = t('playground.promptPlaceholder');
  return (
    <Form onSubmit={() => onOrder(order)}>
      <Field label={t('playground.prompt')}>
        {(ids) => (
          <Textarea
            {...ids}
            rows={5}
            required
            maxLength={32_000}
            placeholder={placeholder}
            {...field('prompt')}
          />
        )}
      </Field>
      <ModelPicker models={models} value={choiceOf(model)} onChange={setChoice} />
      <div className="grid grid-cols-2 gap-3">
        <SelectField label={t('playground.size')} {...field('size')} value={size}>
          {model.sizes.map((value) => (
            <option key={value}>{value}</option>
          ))}
        </SelectField>
        <SelectField label={t('playground.count')} {...field('n')}>
          {COUNTS.map((value) => (
            <option key={value}>{value}</option>
          ))}
        </SelectField>
        {qualities.length === 0 ? null : (
          <SelectField label={t('playground.quality')} {...field('quality')} value={quality}>
            {['', ...qualities].map((value) => (
              <option key={value} value={value}>
                {value || t('playground.default')}
              </option>
            ))}
          </SelectField>
        )}
      </div>
      <FormError error={error} />
      {isOnButton ? null : <MaxCost body={prompt.trim() === '' ? undefined : order} />}
      <GenerateButton
        price={isOnButton ? price : undefined}
        n={n}
        busy={busy}
        disabled={prompt.trim() === ''}
      />
    </Form>
  );
}

/** A quality can be asked for where it has a price. */
function qualitiesOf({ price }: ModelItem): string[] {
  return [...new Set(price.others.flatMap(({ quality }) => quality ?? []))];
}

/** The price is on the button, so that it is known before the click. */
function GenerateButton({
  price,
  n,
  busy,
  disabled,
}: {
  price: string | undefined;
  n: number;
  busy: boolean;
  disabled: boolean;
}) {
  const { t, i18n } = useTranslation();
  const total = price === undefined ? undefined : multiply(price, n);
  const label =
    total === undefined
      ? t('playground.generate')
      : Number(total) === 0
        ? t('playground.generateFree')
        : t('playground.generateFor', { price: formatExactUsd(total, i18n.language) });
  return (
    <Button type="submit" kind="primary" busy={busy} disabled={disabled}>
      {busy ? t('playground.generating') : label}
    </Button>
  );
}
