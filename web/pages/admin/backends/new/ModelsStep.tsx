import { useState } from 'react';
import type { AdminCatalogImport } from '../../../../lib/answers.ts';
import type { BodyOf } from '../../../../../src/console/contract/routes.ts';
import { useAction } from '../../../../lib/action.ts';
import { call } from '../../../../lib/api.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { Button } from '../../../../ui/Button.tsx';
import { Card } from '../../../../ui/Card.tsx';
import { Check, TextField } from '../../../../ui/Field.tsx';
import { Form } from '../../../../ui/Form.tsx';
import { FormError } from '../../../../ui/States.tsx';
import { ImportedModels } from '../../catalog/ImportedModels.tsx';
import { markupOf } from '../../catalog/selection.ts';
import type { ChosenProvider } from './provider.ts';

const ROUTE = 'POST /api/console/admin/backends/preview';
type Question = BodyOf<typeof ROUTE>;

interface ModelsStepProps {
  readonly chosen: ChosenProvider;
  readonly onDraft: (draft: AdminCatalogImport | undefined) => void;
}

/** The backend's models with prices; those that are ticked become a draft. */
export function ModelsStep({ chosen, onDraft }: ModelsStepProps) {
  const { t } = useTranslation();
  const [asked, setAsked] = useState<Question>();
  const list = useAction(async (body: Question) => await call(ROUTE, { body }));
  const pick = useAction(
    async (models: string[] | undefined) =>
      await call(ROUTE, { body: { provider: chosen.name, ...asked, ...(models && { models }) } }),
    { onDone: onDraft },
  );
  const start = (prices: Partial<Question>): void => {
    const body: Question = {
      provider: chosen.name,
      ...(chosen.server && { server: chosen.server }),
      ...prices,
    };
    setAsked(body);
    onDraft(undefined);
    pick.reset();
    list.mutate(body);
  };
  return (
    <>
      <Card
        title={t('newBackend.prices')}
        hint={t(chosen.isListed ? 'newBackend.markupHint' : 'newBackend.ownPriceHint')}
      >
        {chosen.isListed ? (
          <MarkupForm busy={list.isPending} onAsk={start} />
        ) : (
          <PriceForm busy={list.isPending} onAsk={start} />
        )}
        <div className="mt-3">
          <FormError error={list.error} />
        </div>
      </Card>
      {list.data ? (
        <ImportedModels
          key={list.submittedAt}
          found={list.data}
          addLabel={(count) => t('newBackend.take', { count })}
          busy={pick.isPending}
          onAdd={(models) => pick.mutate(models)}
        />
      ) : null}
      <FormError error={pick.error} />
    </>
  );
}

interface PriceProps {
  readonly busy: boolean;
  readonly onAsk: (prices: Partial<Question>) => void;
}

function MarkupForm({ busy, onAsk }: PriceProps) {
  const { t } = useTranslation();
  const [percent, setPercent] = useState('20');
  const markup = markupOf(percent);
  return (
    <Form
      className="flex flex-wrap items-start gap-4"
      onSubmit={() => {
        if (markup !== undefined) onAsk(markup === '' ? {} : { markup });
      }}
    >
      <TextField
        label={t('import.markup')}
        error={markup === undefined ? t('import.badMarkup') : undefined}
        inputMode="decimal"
        value={percent}
        onChange={(event) => setPercent(event.target.value)}
        fieldClassName="w-full sm:w-64"
      />
      <ListButton busy={busy} />
    </Form>
  );
}

const AMOUNT = /^\d{1,5}(?:[.,]\d{1,9})?$/;

function PriceForm({ busy, onAsk }: PriceProps) {
  const { t } = useTranslation();
  const [input, setInput] = useState('');
  const [output, setOutput] = useState('');
  const [isFree, setFree] = useState(false);
  const [isZero, setZero] = useState(false);
  const amount = (text: string): string => text.trim().replace(',', '.');
  const errorOf = (text: string) =>
    isFree || text.trim() === '' || AMOUNT.test(text.trim()) ? undefined : t('newBackend.badPrice');
  return (
    <Form
      className="flex flex-wrap items-start gap-4"
      onSubmit={() => {
        if (errorOf(input) !== undefined || errorOf(output) !== undefined) return;
        const prices = { input: amount(input), output: amount(output) };
        const bothZero = !isFree && Number(prices.input) === 0 && Number(prices.output) === 0;
        setZero(bothZero);
        if (!bothZero) onAsk({ ownPrice: isFree ? 'free' : prices });
      }}
    >
      <TextField
        label={t('newBackend.inputPrice')}
        error={errorOf(input) ?? (isZero && !isFree ? t('newBackend.sayFree') : undefined)}
        required={!isFree}
        disabled={isFree}
        inputMode="decimal"
        value={input}
        onChange={(event) => setInput(event.target.value)}
        fieldClassName="w-full sm:w-56"
      />
      <TextField
        label={t('newBackend.outputPrice')}
        error={errorOf(output)}
        required={!isFree}
        disabled={isFree}
        inputMode="decimal"
        value={output}
        onChange={(event) => setOutput(event.target.value)}
        fieldClassName="w-full sm:w-56"
      />
      <Check
        label={t('newBackend.free')}
        className="sm:mt-8"
        checked={isFree}
        onChange={(event) => setFree(event.target.checked)}
      />
      <ListButton busy={busy} />
    </Form>
  );
}

function ListButton({ busy }: { busy: boolean }) {
  const { t } = useTranslation();
  return (
    <Button type="submit" kind="primary" busy={busy} className="sm:mt-6.5">
      {busy ? t('import.listing') : t('import.list')}
    </Button>
  );
}
