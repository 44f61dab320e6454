import type { TFunction } from 'i18next';
import { useEffect, useState, type ReactNode } from 'react';
import type { AdminCatalogProposal } from '../../../lib/answers.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { utcText } from '../../../lib/time.ts';
import { useShownRows } from '../../../lib/pages.ts';
import { textsOf, useTranslation } from '../../../lib/translation.tsx';
import { Badge, type Tone } from '../../../ui/Badge.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Card } from '../../../ui/Card.tsx';
import { SelectField, TextField } from '../../../ui/Field.tsx';
import { Form } from '../../../ui/Form.tsx';
import { Link } from '../../../ui/Link.tsx';
import { ShowMore } from '../../../ui/Pager.tsx';
import { FormError, Skeleton } from '../../../ui/States.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { READS_OF_CATALOG } from '../draft/draft.ts';
import { MissingKey } from '../draft/MissingKey.tsx';
import { changedName, changeText } from './changeText.ts';

interface PublishDraftProps {
  readonly yaml: string;
  readonly revision: number;
  readonly onPublished: () => void;
}

/** The changes of a draft, and the button to publish it. */
export function PublishDraft({ yaml, revision, onPublished }: PublishDraftProps) {
  const propose = useAction(
    async () => await call('POST /api/console/admin/catalog/propose', { body: { yaml } }),
  );
  const { mutate } = propose;
  useEffect(() => mutate(), [mutate]);
  return (
    <>
      <FormError error={propose.error} />
      {propose.data ? (
        <Proposal proposal={propose.data} onKeyStored={() => mutate()} />
      ) : (
        <Skeleton className="h-24 w-full rounded-md" />
      )}
      {propose.data?.ok ? (
        <div className="mt-4">
          <Publish yaml={yaml} revision={revision} onPublished={onPublished} />
        </div>
      ) : null}
    </>
  );
}

export function PublishDraftCard({ title, ...props }: PublishDraftProps & { readonly title: ReactNode }) {
  const { t } = useTranslation();
  return (
    <Card title={title} hint={t('newBackend.publishHint')}>
      <PublishDraft {...props} />
    </Card>
  );
}

const CHANGE_TONES: Record<AdminCatalogProposal['changes'][number]['kind'], Tone> = {
  added: 'good',
  removed: 'bad',
  changed: 'warn',
};

interface ProposalProps {
  readonly proposal: AdminCatalogProposal;
  /** Called when a missing key was stored, to check the draft again. */
  readonly onKeyStored: () => void;
}

/** The mistakes of a draft, or its changes. */
export function Proposal({ proposal, onKeyStored }: ProposalProps) {
  const { t } = useTranslation();
  if (!proposal.ok) {
    return (
      <div role="alert">
        <h3 className="mb-2 font-semibold text-bad">
          {t('catalog.problems', { count: proposal.problems.length })}
        </h3>
        <ul className="divide-y divide-line rounded-md border border-bad-line">
          {proposal.problems.map((problem) => (
            <li key={`${problem.line}:${problem.column}:${problem.message}`} className="px-3 py-2 text-sm">
              {problem.line === null ? null : (
                <span className="mr-2 font-medium text-bad">{t('catalog.line', { line: problem.line })}</span>
              )}
              {problem.path ? <code className="mr-2 text-xs text-ink-3">{problem.path}</code> : null}
              {problem.message}
              {problem.missingKey ? <MissingKey {...problem.missingKey} onStored={onKeyStored} /> : null}
            </li>
          ))}
        </ul>
      </div>
    );
  }
  return (
    <div role="status">
      <h3 className="mb-2 font-semibold">{t('catalog.changes')}</h3>
      {proposal.changes.length === 0 ? <p className="text-ink-3">{t('catalog.noChanges')}</p> : null}
      <Changes changes={proposal.changes} />
      <BelowCost prices={proposal.belowCost} total={proposal.belowCostTotal} />
      <LostGroups groups={proposal.lostGroups} />
    </div>
  );
}

/** Each change as a line: what it is about, and from what to what. */
export function Changes({ changes }: Pick<AdminCatalogProposal, 'changes'>) {
  const { t } = useTranslation();
  // An import may add thousands of models at once.
  const { rows, ...more } = useShownRows(changes, '');
  return (
    <>
      <ul className="divide-y divide-line border-t border-line">
        {rows.map((change) => (
          <li key={`${change.kind}:${change.subject}`} className="py-2 text-sm">
            <span className="flex flex-wrap items-center gap-2">
              <Badge tone={CHANGE_TONES[change.kind]}>{t(`catalog.${change.kind}`)}</Badge>
              <span>{t(`catalog.thing.${change.thing}`)}</span>
              {change.name === '' ? null : <code className="break-all">{changedName(change, t)}</code>}
              {change.aspect === null ? null : <span>{aspectName(change.aspect, t)}</span>}
              {change.kind === 'changed' ? null : <Whole change={change} />}
            </span>
            {change.kind === 'changed' && change.before ? (
              <p className="mt-1 break-words text-ink-3 line-through">
                {changeText(change, change.before, t)}
              </p>
            ) : null}
            {change.kind === 'changed' && change.after ? (
              <p className="mt-1 break-words">{changeText(change, change.after, t)}</p>
            ) : null}
          </li>
        ))}
      </ul>
      <ShowMore {...more} />
    </>
  );
}

/** What sums up a thing that comes or goes, unless that is its name. */
function Whole({ change }: { change: AdminCatalogProposal['changes'][number] }) {
  const { t } = useTranslation();
  const text = change.after ?? change.before ?? '';
  if (text === '' || text === change.name) return null;
  return <span className="min-w-0 break-words text-ink-3">{changeText(change, text, t)}</span>;
}

/** An aspect that this page does not know, from a newer server or of its settings, is named as it is. */
export function aspectName(aspect: string, t: TFunction): string {
  const names = textsOf(t, 'catalog.aspects');
  return Object.hasOwn(names, aspect) ? (names[aspect] ?? aspect) : aspect;
}

interface BelowCostProps {
  readonly prices: AdminCatalogProposal['belowCost'];
  /** Of a large catalog, more than are listed. */
  readonly total: number;
}

function BelowCost({ prices, total }: BelowCostProps) {
  const { t } = useTranslation();
  if (prices.length === 0) return null;
  return (
    <div role="alert" className="mt-4 rounded-md border border-bad-line px-3 py-2 text-sm">
      <h3 className="mb-1 font-semibold text-bad">{t('catalog.belowCost', { count: total })}</h3>
      <PricesBelowCost prices={prices.slice(0, FEW)} />
      {prices.length > FEW ? (
        <details className="mt-1">
          <summary className="cursor-pointer text-ink-2">
            {t('catalog.morePrices', { count: total - FEW })}
          </summary>
          <PricesBelowCost prices={prices.slice(FEW)} />
          {total > prices.length ? (
            <p className="mt-1">
              <Link href="/admin/prices?show=below" className="text-accent hover:underline">
                {t('catalog.allBelowCost')}
              </Link>
            </p>
          ) : null}
        </details>
      ) : null}
    </div>
  );
}

/** More would push the button to publish out of sight. */
const FEW = 6;

function PricesBelowCost({ prices }: Pick<BelowCostProps, 'prices'>) {
  const { t } = useTranslation();
  const items = textsOf(t, 'models.items');
  return (
    <ul>
      {prices.map(({ group, model, item, priceUsd, costUsd, backend }) => (
        <li key={`${group} ${model} ${item} ${backend}`} className="break-words">
          <code>{model}</code> {group === null ? null : <Badge>{group}</Badge>}{' '}
          {t('catalog.belowCostLine', {
            item: items[item] ?? item,
            price: priceUsd,
            cost: costUsd,
            backend,
          })}
        </li>
      ))}
    </ul>
  );
}

/** A warning about wallets that would pay list prices, because the draft does not have their group. */
function LostGroups({ groups }: { readonly groups: AdminCatalogProposal['lostGroups'] }) {
  const { t } = useTranslation();
  if (groups.length === 0) return null;
  return (
    <div role="alert" className="mt-4 rounded-md border border-bad-line px-3 py-2 text-sm">
      <h3 className="mb-1 font-semibold text-bad">{t('catalog.lostGroups')}</h3>
      <ul>
        {groups.map(({ group, wallets }) => (
          <li key={group} className="break-words">
            <Badge>{group}</Badge> {t('catalog.lostGroupLine', { count: wallets })}
          </li>
        ))}
      </ul>
    </div>
  );
}

interface PublishProps {
  readonly yaml: string;
  /** The version that the draft is based on. */
  readonly revision: number;
  readonly onPublished: () => void;
}

export function Publish({ yaml, revision, onPublished }: PublishProps) {
  const { t } = useTranslation();
  const [note, setNote] = useState('');
  const [isLater, setLater] = useState(false);
  const [moment, setMoment] = useState(nextMonth);
  const from = isLater ? new Date(moment).getTime() : undefined;
  const save = useAction(
    async () =>
      await call('POST /api/console/admin/catalog', {
        body: { yaml, note: note.trim(), revision, ...(from !== undefined && { from }) },
      }),
    {
      refreshOnConflict: READS_OF_CATALOG,
      refresh: READS_OF_CATALOG,
      onDone: () => {
        toast(t(isLater ? 'plans.saved' : 'catalog.saved'));
        onPublished();
      },
    },
  );
  const isConflict = save.error?.code === 'conflict' && save.error.message.startsWith('Somebody');
  const conflict = isConflict ? new Error(t('catalog.conflict')) : undefined;
  return (
    <Form className="flex flex-col gap-3 border-t border-line pt-4" onSubmit={() => save.mutate()}>
      <TextField
        label={t('catalog.noteOptional')}
        maxLength={200}
        value={note}
        onChange={(event) => setNote(event.target.value)}
      />
      <SelectField
        label={t('plans.when')}
        value={isLater ? 'later' : 'now'}
        onChange={(event) => setLater(event.target.value === 'later')}
        fieldClassName="w-full sm:w-60"
      >
        <option value="now">{t('plans.now')}</option>
        <option value="later">{t('plans.later')}</option>
      </SelectField>
      {isLater ? (
        <TextField
          label={t('plans.from')}
          hint={
            from === undefined || Number.isNaN(from)
              ? t('plans.fromHint')
              : `${utcText(from)}. ${t('plans.fromHint')}`
          }
          type="datetime-local"
          required
          value={moment}
          onChange={(event) => setMoment(event.target.value)}
          fieldClassName="w-full sm:w-60"
        />
      ) : null}
      <FormError error={conflict ?? save.error} />
      <Button type="submit" kind="primary" busy={save.isPending} className="self-start">
        {t(isLater ? 'plans.save' : 'catalog.save')}
      </Button>
    </Form>
  );
}

/** The first of the next month in UTC, as a field for local time has it. */
function nextMonth(): string {
  const now = new Date();
  const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1));
  const local = new Date(first.getTime() - first.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}
