import { useState } from 'react';
import type { AdminCatalogImport } from '../../../../lib/answers.ts';
import type { BodyOf } from '../../../../../src/console/contract/routes.ts';
import { useAction } from '../../../../lib/action.ts';
import { call } from '../../../../lib/api.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { Button } from '../../../../ui/Button.tsx';
import { Form } from '../../../../ui/Form.tsx';
import { TextField } from '../../../../ui/Field.tsx';
import { FormError } from '../../../../ui/States.tsx';
import { ImportedModels } from '../../catalog/ImportedModels.tsx';
import { markupOf } from '../../catalog/selection.ts';
import { OwnPriceFields } from './OwnPriceFields.tsx';
import { NO_PRICES, questionOf, type EnteredPrices } from './prices.ts';
import type { ChosenProvider } from './provider.ts';
import { Step, StepTitle } from './Step.tsx';

const ROUTE = 'POST /api/console/admin/backends/preview';
type Question = BodyOf<typeof ROUTE>;

interface ModelsStepProps {
  readonly chosen: ChosenProvider;
  /** How many models became a draft; undefined: none yet. */
  readonly taken: number | undefined;
  readonly onDraft: (draft: AdminCatalogImport | undefined) => void;
}

/** Prices, then the backend's models with them; those that are ticked become a draft. */
export function ModelsStep({ chosen, taken, onDraft }: ModelsStepProps) {
  const { t } = useTranslation();
  const [asked, setAsked] = useState<Question>();
  const [entered, setEntered] = useState({ prices: NO_PRICES, percent: '20' });
  const list = useAction(async (body: Question) => await call(ROUTE, { body }));
  const pick = useAction(
    async (models: string[] | undefined) =>
      await call(ROUTE, { body: { provider: chosen.name, ...asked, ...(models && { models }) } }),
    { onDone: onDraft },
  );
  const start = (wanted: Partial<Question>): void => {
    const { name: provider, server } = chosen;
    const body: Question = { provider, ...(server && { server }), ...wanted };
    setAsked(body);
    onDraft(undefined);
    pick.reset();
    list.mutate(body);
  };
  const found = list.data;
  return (
    <>
      <Step
        number={3}
        title={t('newBackend.setPrices')}
        hint={t(chosen.isListed ? 'newBackend.markupHint' : 'newBackend.ownPriceHint')}
        done={found && (chosen.isListed ? t('newBackend.withMarkup', entered) : t('newBackend.ownPrices'))}
        onAgain={() => {
          onDraft(undefined);
          list.reset();
        }}
      >
        <PriceForm
          isListed={chosen.isListed}
          entered={entered}
          onEnter={setEntered}
          busy={list.isPending}
          onAsk={start}
        />
        <div className="mt-3">
          <FormError error={list.error} />
        </div>
      </Step>
      {found && taken !== undefined ? (
        <Step
          number={4}
          title={t('newBackend.chooseModels')}
          done={t('newBackend.models', { count: taken })}
          onAgain={() => onDraft(undefined)}
        />
      ) : null}
      {found && taken === undefined ? (
        <ImportedModels
          key={list.submittedAt}
          found={found}
          title={<StepTitle number={4} title={t('newBackend.chooseModels')} />}
          hasOwnCosts={!chosen.isListed}
          addLabel={(count) => t('newBackend.take', { count })}
          busy={pick.isPending}
          onAdd={(models) => pick.mutate(models)}
        />
      ) : null}
      <FormError error={pick.error} />
    </>
  );
}

interface Entered {
  readonly prices: EnteredPrices;
  readonly percent: string;
}

interface PriceFormProps {
  readonly isListed: boolean;
  readonly entered: Entered;
  readonly onEnter: (entered: Entered) => void;
  readonly busy: boolean;
  readonly onAsk: (wanted: Partial<Question>) => void;
}

/** A markup on the list prices; prices of one's own for what no list knows. */
function PriceForm({ isListed, entered, onEnter, busy, onAsk }: PriceFormProps) {
  const { t } = useTranslation();
  const { prices, percent } = entered;
  const [isTried, setTried] = useState(false);
  const markup = markupOf(percent);
  const own = questionOf(prices, !isListed);
  const ownFields = (
    <OwnPriceFields
      prices={prices}
      onChange={(next) => onEnter({ ...entered, prices: next })}
      problem={isTried ? own.problem : undefined}
    />
  );
  return (
    <Form
      className="flex flex-col gap-4"
      onSubmit={() => {
        setTried(true);
        if (own.problem !== undefined || (isListed && markup === undefined)) return;
        onAsk({ ...own.question, ...(isListed && markup && { markup }) });
      }}
    >
      {isListed ? (
        <TextField
          label={t('import.markup')}
          error={markup === undefined ? t('import.badMarkup') : undefined}
          inputMode="decimal"
          value={percent}
          onChange={(event) => onEnter({ ...entered, percent: event.target.value })}
          fieldClassName="w-full sm:w-64"
        />
      ) : (
        ownFields
      )}
      {isListed ? (
        <details>
          <summary className="cursor-pointer text-sm font-medium text-ink-2">
            {t('newBackend.unlisted')}
          </summary>
          <div className="mt-4">{ownFields}</div>
        </details>
      ) : null}
      <Button type="submit" kind="primary" busy={busy} className="self-start">
        {busy ? t('import.listing') : t('import.list')}
      </Button>
    </Form>
  );
}
