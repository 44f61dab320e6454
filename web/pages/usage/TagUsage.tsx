import Download from 'lucide-react/icons/download';
import { useState } from 'react';
import type { Answer } from '../../../src/console/contract/routes.ts';
import { useAction } from '../../lib/action.ts';
import { call, urlOf, useApi, type Wallet } from '../../lib/api.ts';
import { useForm } from '../../lib/form.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Card } from '../../ui/Card.tsx';
import { FormDialog } from '../../ui/FormDialog.tsx';
import { Field, SelectField, Textarea } from '../../ui/Field.tsx';
import { LedgerLine } from '../../ui/LedgerLine.tsx';
import { Money } from '../../ui/Money.tsx';
import { Loaded, Skeleton } from '../../ui/States.tsx';
import { toast } from '../../ui/Toast.tsx';

interface TagUsageProps {
  readonly wallet: Wallet;
  /** Days, both inclusive; absent: the last thirty. */
  readonly range?: { readonly from: string; readonly to: string };
}

/** What requests cost by what their clients said about them, such as a project; and which of these tags are kept. */
export default function TagUsage({ wallet, range }: TagUsageProps) {
  const { t } = useTranslation();
  const [isChoosing, setChoosing] = useState(false);
  const [chosen, setChosen] = useState('');
  const tags = useApi('GET /api/console/tags', { query: { wallet } });
  const names = tags.data?.names ?? [];
  const name = names.find((one) => one === chosen) ?? names[0];
  // A reader who cannot choose tags sees this only once there are some.
  if (!tags.data?.mayChange && name === undefined) return null;
  return (
    <Card
      title={t('team.tags')}
      hint={t('team.tagsHint')}
      actions={
        tags.data?.mayChange ? (
          <Button small onClick={() => setChoosing(true)}>
            {t('team.tagsChoose')}
          </Button>
        ) : undefined
      }
    >
      {name === undefined ? (
        <p className="text-ink-3">{t('team.tagsNone')}</p>
      ) : (
        <>
          <div className="mb-4 flex flex-wrap items-end gap-3">
            <SelectField
              label={t('team.tag')}
              value={name}
              onChange={(event) => setChosen(event.target.value)}
              className="min-w-40"
            >
              {names.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </SelectField>
            <a
              href={urlOf('GET /api/console/tags/usage.csv', { query: { wallet, name, ...range } })}
              download
              className="inline-flex h-9 items-center gap-2 rounded-md border border-line bg-surface px-3 text-sm font-medium hover:bg-hover"
            >
              <Download size={14} aria-hidden />
              {t('requests.export')}
            </a>
          </div>
          <Values query={{ wallet, name, ...range }} />
        </>
      )}
      {isChoosing ? <ChooseTags wallet={wallet} names={names} onClose={() => setChoosing(false)} /> : null}
    </Card>
  );
}

type ValueQuery = { readonly wallet: Wallet; readonly name: string } & Partial<TagUsageProps['range']>;

function Values({ query }: { query: ValueQuery }) {
  const usage = useApi('GET /api/console/tags/usage', { query }, { keepsPrevious: true });
  return (
    <Loaded query={usage} skeleton={<Skeleton className="h-20 w-full" />}>
      {(shown) => <Lines usage={shown} />}
    </Loaded>
  );
}

function Lines({ usage: { items, others } }: { usage: Answer<'GET /api/console/tags/usage'> }) {
  const { t } = useTranslation();
  return (
    <dl className="thin-scroll flex max-h-96 flex-col gap-1.5 overflow-y-auto">
      {items.map(({ value, requests, chargedUsd }) => (
        <LedgerLine
          key={value}
          label={
            <>
              <span className="min-w-0 truncate" title={value}>
                {value}
              </span>
              <span className="text-sm whitespace-nowrap text-ink-3">
                {t('team.tagRequests', { count: requests })}
              </span>
            </>
          }
          value={<Money usd={chargedUsd} />}
        />
      ))}
      <LedgerLine
        label={t('team.tagOthers')}
        value={<Money usd={others.chargedUsd} />}
        className="text-ink-3"
      />
    </dl>
  );
}

interface ChooseTagsProps {
  readonly wallet: Wallet;
  readonly names: readonly string[];
  readonly onClose: () => void;
}

function ChooseTags({ wallet, names, onClose }: ChooseTagsProps) {
  const { t } = useTranslation();
  const { values, field } = useForm({ names: names.join('\n') });
  const save = useAction(
    async () =>
      await call('PUT /api/console/tags', { query: { wallet }, body: { names: linesOf(values.names) } }),
    {
      refresh: ['GET /api/console/tags'],
      onDone: () => {
        onClose();
        toast(t('team.tagsSaved'));
      },
    },
  );
  return (
    <FormDialog
      title={t('team.tagsChoose')}
      go={t('team.tagsSave')}
      action={save}
      onSubmit={() => save.mutate()}
      onClose={onClose}
    >
      <Field label={t('team.tagNames')} hint={t('team.tagNamesHint')}>
        {(ids) => (
          <Textarea
            {...ids}
            rows={4}
            spellCheck={false}
            autoFocus
            className="font-mono"
            {...field('names')}
          />
        )}
      </Field>
      <p className="text-sm text-ink-3">{t('team.tagsFromNow')}</p>
    </FormDialog>
  );
}

function linesOf(text: string): string[] {
  return text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
