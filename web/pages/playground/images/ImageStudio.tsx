import { useEffect, useRef, useState } from 'react';
import { classes } from '../../../lib/classes.ts';
import RotateCcw from 'lucide-react/icons/rotate-ccw';
import type { ModelItem } from '../../../lib/answers.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { useWallet } from '../../../lib/wallet.ts';
import { Button } from '../../../ui/Button.tsx';
import { Field, Textarea } from '../../../ui/Field.tsx';
import { Form } from '../../../ui/Form.tsx';
import { Link } from '../../../ui/Link.tsx';
import { Empty, FormError } from '../../../ui/States.tsx';
import { ModelPicker } from '../ModelPicker.tsx';
import { chosenModel } from '../recipe.ts';
import { GenerateButton } from './GenerateButton.tsx';
import { ImageControls } from './ImageControls.tsx';
import {
  changeImageDraft,
  changeImageValue,
  resetImageValues,
  setMask,
  setReferences,
  useImageDraft,
  type StudioState,
} from './imageDraft.ts';
import { ImageJobs } from './ImageJobs.tsx';
import { forgetRun, sentBody, startRun, useImageRuns, type ImageOrder, type ImageRun } from './imageRuns.ts';
import { ImageRunView } from './ImageRunView.tsx';
import { bodyOf, controlsOf, withSeed, wrongSize, type ImageDraft } from './order.ts';
import { ReferencePictures } from './ReferencePictures.tsx';
import { useImageQuotes } from './useImageQuote.ts';
import { choiceOf } from '../../models/group.ts';

/** One model: the request on one side, its results on the other. */
export function ImageStudio({
  models,
  wanted,
}: {
  models: readonly ModelItem[];
  wanted: string | undefined;
}) {
  const [chosen, setChosen] = useState<number>();
  useEffect(() => {
    // A link sets the model once; afterwards the choice is the user's.
    if (wanted) changeImageDraft({ choice: wanted });
  }, [wanted]);
  return (
    <div className="grid gap-8 pb-16 lg:grid-cols-[22rem_minmax(0,1fr)]">
      <OrderForm models={models} onOrder={(order) => setChosen(startRun(order))} />
      <Results chosen={chosen} onChoose={setChosen} />
    </div>
  );
}

interface OrderFormProps {
  readonly models: readonly ModelItem[];
  readonly onOrder: (order: ImageOrder) => void;
}

function OrderForm({ models, onOrder }: OrderFormProps) {
  const { t } = useTranslation();
  const studio = useImageDraft();
  const { draft } = studio;
  const model = modelOf(models, draft.choice);
  if (!model) return null;
  const order = orderOf(studio, model);
  const isReady = draft.prompt.trim() !== '';
  return (
    <Form onSubmit={() => isReady && onOrder(order)}>
      <Field label={t('playground.prompt')}>
        {(ids) => (
          <Textarea
            {...ids}
            rows={5}
            required
            maxLength={32_000}
            placeholder={
              order.references.length > 0 ? t('studio.editPlaceholder') : t('playground.promptPlaceholder')
            }
            value={draft.prompt}
            onChange={(event) => changeImageDraft({ prompt: event.target.value })}
          />
        )}
      </Field>
      <ModelPicker
        models={models}
        value={choiceOf(model)}
        onChange={(choice) => changeImageDraft({ choice })}
      />
      <StartPictures
        order={order}
        beyond={studio.references.length - order.references.length}
        editor={models.find((one) => !one.unavailable && controlsOf(one).mostReferences > 0)}
      />
      <ImageControls model={model} draft={draft} onChange={changeImageValue} />
      <Buttons order={order} draft={draft} isReady={isReady} />
      <Button
        small
        kind="ghost"
        className="self-start"
        icon={<RotateCcw size={14} aria-hidden />}
        onClick={resetImageValues}
        disabled={Object.keys(draft.values).length === 0}
      >
        {t('studio.reset')}
      </Button>
    </Form>
  );
}

/** An older image was stored without its endpoint: any endpoint that has its model will do. */
function modelOf(models: readonly ModelItem[], choice: string): ModelItem | undefined {
  const anywhere = choice.startsWith(' ')
    ? models.find((model) => model.model === choice.trim() && !model.unavailable)
    : undefined;
  return anywhere ?? chosenModel(models, choice);
}

/** The request that a click would send, without pictures that the model cannot take. */
function orderOf({ draft, references, mask }: StudioState, model: ModelItem): ImageOrder {
  const controls = controlsOf(model, draft.values);
  const used = references.slice(0, controls.mostReferences);
  return {
    model,
    body: bodyOf(draft, model),
    references: used,
    mask: controls.mask && used.length > 0 ? mask : undefined,
  };
}

interface StartPicturesProps {
  readonly order: ImageOrder;
  /** How many more pictures there are than the model takes. */
  readonly beyond: number;
  readonly editor: ModelItem | undefined;
}

function StartPictures({ order, beyond, editor }: StartPicturesProps) {
  const { t } = useTranslation();
  const { model, references, mask } = order;
  const { mostReferences: most, mask: canMask } = controlsOf(model);
  return (
    <>
      {most > 0 ? (
        <ReferencePictures
          references={references}
          mask={mask}
          most={most}
          canMask={canMask}
          onReferences={setReferences}
          onMask={setMask}
        />
      ) : null}
      {beyond > 0 ? (
        <p role="alert" className="text-sm text-warn">
          {most === 0
            ? t('studio.takesNone', { model: model.displayName })
            : t('studio.tooManyForModel', { model: model.displayName, count: most })}
        </p>
      ) : null}
      {beyond > 0 && most === 0 && editor ? (
        <Button small className="self-start" onClick={() => changeImageDraft({ choice: choiceOf(editor) })}>
          {t('studio.useModel', { model: editor.displayName })}
        </Button>
      ) : null}
    </>
  );
}

interface ButtonsProps {
  readonly order: ImageOrder;
  readonly draft: ImageDraft;
  readonly isReady: boolean;
}

function Buttons({ order, draft, isReady }: ButtonsProps) {
  const { t } = useTranslation();
  const { model, body, references, mask } = order;
  const { wallet } = useWallet();
  const start = useAction(
    async () =>
      await call('POST /api/console/playground/image-jobs', {
        query: { wallet },
        body: sentBody({ ...order, body: withSeed(body, model) }),
      }),
    { refresh: ['GET /api/console/image-jobs'] },
  );
  const [quote] = useImageQuotes([
    { model, body, references: references.length, hasMask: mask !== undefined },
  ]);
  if (!quote) return null;
  return (
    <div className="flex flex-col gap-2">
      <GenerateButton
        quotes={[quote]}
        isExact={model.price.kind === 'images'}
        isEdit={references.length > 0}
        disabled={!isReady}
        isExplained={wrongSize(draft, model) !== undefined}
      />
      <Button
        busy={start.isPending}
        disabled={!isReady || quote.kind === 'refused' || quote.kind === 'waiting'}
        onClick={() => start.mutate()}
      >
        {t('studio.inBackground')}
      </Button>
      <FormError error={start.error} />
      <p className="text-sm text-ink-3">{t('studio.backgroundHint')}</p>
    </div>
  );
}

function Results({ chosen, onChoose }: { chosen: number | undefined; onChoose: (id: number) => void }) {
  const { t } = useTranslation();
  const runs = useImageRuns();
  const shown = runs.find(({ id }) => id === chosen) ?? runs[0];
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    // On a phone, it is below the form.
    if (chosen !== undefined) section.current?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  const others = runs.filter((run) => run !== shown);
  return (
    <section
      ref={section}
      // The form is long: what was made stays beside its button.
      className="flex min-w-0 scroll-mt-16 flex-col gap-5 lg:sticky lg:top-6 lg:self-start"
      aria-label={t('studio.results')}
      aria-live="polite"
    >
      <ImageJobs />
      {shown ? (
        <ImageRunView run={shown} />
      ) : (
        <Empty title={t('playground.imagesEmpty')}>{t('playground.imagesEmptyLead')}</Empty>
      )}
      {others.length > 0 ? <Earlier runs={others} onChoose={onChoose} /> : null}
      <p className={classes('flex flex-wrap gap-4', shown ? '' : 'justify-center')}>
        <Link href="/app/images" className="text-accent underline-offset-2 hover:underline">
          {t('playground.toGallery')}
        </Link>
        {shown && shown.state !== 'running' ? (
          <button
            type="button"
            className="text-ink-3 underline-offset-2 hover:underline"
            onClick={() => forgetRun(shown.id)}
          >
            {t('studio.closeRun')}
          </button>
        ) : null}
      </p>
    </section>
  );
}

function Earlier({ runs, onChoose }: { runs: readonly ImageRun[]; onChoose: (id: number) => void }) {
  const { t } = useTranslation();
  return (
    <div>
      <h2 className="mb-2 text-sm font-medium text-ink-2">{t('studio.earlier')}</h2>
      <ul className="flex flex-wrap gap-2">
        {runs.map((run) => (
          <li key={run.id}>
            <button
              type="button"
              onClick={() => onChoose(run.id)}
              aria-label={t('studio.showRun', { prompt: run.body.prompt })}
              title={run.body.prompt}
              className="grid size-20 place-items-center overflow-hidden rounded-md border border-line bg-sunken text-xs text-ink-3 hover:border-field"
            >
              {run.pictures[0] ? (
                <img src={run.pictures[0].src} alt="" className="size-full object-cover" />
              ) : run.state === 'running' ? (
                '…'
              ) : (
                t('studio.state.failed')
              )}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
