import { useId, useState } from 'react';
import type { AdminCatalog, AdminCatalogImport } from '../../../lib/answers.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Card } from '../../../ui/Card.tsx';
import { Code } from '../../../ui/Code.tsx';
import { TextField } from '../../../ui/Field.tsx';
import { Form } from '../../../ui/Form.tsx';
import { FormError } from '../../../ui/States.tsx';
import { ImportedModels } from './ImportedModels.tsx';
import { markupOf } from './selection.ts';

interface ModelImportProps {
  readonly catalog: AdminCatalog;
  readonly provider: string;
  readonly onDraft: (yaml: string, count: number) => void;
}

interface ImportQuestion {
  readonly provider: string;
  readonly markup?: string;
  readonly models?: string[];
}

/** Imports a backend's models with suggested prices, ticked one by one, as a draft of the catalog. */
export function ModelImport({ catalog, provider, onDraft }: ModelImportProps) {
  const { t } = useTranslation();
  const [asked, setAsked] = useState<ImportQuestion>();
  const list = useAction(async (body: ImportQuestion) => await call(ROUTE, { body }));
  const add = useAction(
    async (models: string[] | undefined) =>
      await call(ROUTE, { body: { provider: '', ...asked, ...(models && { models }) } }),
    {
      refresh: ['GET /api/console/admin/catalog'],
      onDone: (made) => {
        if (made.yaml !== null) onDraft(made.yaml, made.new.length + made.changed.length);
      },
    },
  );
  const start = (body: ImportQuestion): void => {
    setAsked(body);
    add.reset();
    list.mutate(body);
  };
  return (
    <div className="flex flex-col gap-5">
      <Card>
        <p className="mb-4 max-w-[70ch] text-ink-2">{t('import.lead')}</p>
        <Question
          upstreams={catalog.upstreams}
          firstProvider={provider}
          busy={list.isPending}
          onAsk={start}
        />
        <div className="mt-3">
          <FormError error={list.error} />
        </div>
      </Card>
      {list.data ? (
        <ImportedModels
          key={list.submittedAt}
          found={list.data}
          addLabel={(count) => t(catalog.source.editable ? 'import.add' : 'import.paste', { count })}
          busy={add.isPending}
          onAdd={(models) => add.mutate(models)}
        />
      ) : null}
      <FormError error={add.error} />
      {catalog.source.editable ? null : <Paste made={add.data} />}
    </div>
  );
}

const ROUTE = 'POST /api/console/admin/catalog/import';

interface QuestionProps {
  readonly upstreams: AdminCatalog['upstreams'];
  readonly firstProvider: string;
  readonly busy: boolean;
  readonly onAsk: (question: ImportQuestion) => void;
}

function Question({ upstreams, firstProvider, busy, onAsk }: QuestionProps) {
  const { t } = useTranslation();
  const namesId = useId();
  const [provider, setProvider] = useState(firstProvider);
  const [percent, setPercent] = useState('20');
  const markup = markupOf(percent);
  return (
    <Form
      className="flex flex-wrap items-start gap-4"
      onSubmit={() => {
        if (markup !== undefined) onAsk({ provider: provider.trim(), ...(markup !== '' && { markup }) });
      }}
    >
      <TextField
        label={t('import.provider')}
        hint={t('import.providerHint')}
        required
        maxLength={64}
        list={namesId}
        autoComplete="off"
        value={provider}
        onChange={(event) => setProvider(event.target.value)}
        fieldClassName="w-full sm:w-80"
      />
      <datalist id={namesId}>
        {upstreams
          .filter(({ kind }) => kind !== 'house')
          .map(({ name }) => (
            <option key={name} value={name} />
          ))}
      </datalist>
      <TextField
        label={t('import.markup')}
        hint={t('import.markupHint')}
        error={markup === undefined ? t('import.badMarkup') : undefined}
        inputMode="decimal"
        value={percent}
        onChange={(event) => setPercent(event.target.value)}
        fieldClassName="w-full sm:w-64"
      />
      <Button type="submit" kind="primary" busy={busy} className="sm:mt-6.5">
        {busy ? t('import.listing') : t('import.list')}
      </Button>
    </Form>
  );
}

function Paste({ made }: { made: AdminCatalogImport | undefined }) {
  const { t } = useTranslation();
  if (!made || made.paste === '') return null;
  return (
    <Card>
      <p className="mb-3">{t('import.pasteLead')}</p>
      <Code label={t('catalog.yaml')} code={made.paste} />
    </Card>
  );
}
