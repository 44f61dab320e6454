import { useLocation } from 'wouter';
import type { AdminCatalogImport } from '../../../../lib/answers.ts';
import { useAction } from '../../../../lib/action.ts';
import { call } from '../../../../lib/api.ts';
import { classes } from '../../../../lib/classes.ts';
import { formatDuration } from '../../../../lib/numbers.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { Button } from '../../../../ui/Button.tsx';
import { Card } from '../../../../ui/Card.tsx';
import { Code } from '../../../../ui/Code.tsx';
import { Money } from '../../../../ui/Money.tsx';
import { FormError } from '../../../../ui/States.tsx';
import { PublishDraftCard } from '../../catalog/PublishDraft.tsx';
import { StepTitle } from './Step.tsx';

/** What would change, a test request to the backend as drafted, and the button to publish. */
export function PublishStep({ draft }: { draft: AdminCatalogImport }) {
  const { t } = useTranslation();
  const [, go] = useLocation();
  if (draft.yaml === null) {
    return (
      <Card title={t('newBackend.publish')}>
        <p className="mb-3">{draft.paste === '' ? t('catalog.noChanges') : t('import.pasteLead')}</p>
        {draft.paste === '' ? null : <Code label={t('catalog.yaml')} code={draft.paste} />}
      </Card>
    );
  }
  return (
    <>
      <p role="status" className="text-sm text-ink-3">
        {t('draft.kept')}
      </p>
      <Trial key={draft.yaml} draft={draft} yaml={draft.yaml} />
      <PublishDraftCard
        title={<StepTitle number={6} title={t('newBackend.publish')} />}
        key={`publish ${draft.yaml}`}
        yaml={draft.yaml}
        revision={draft.revision ?? 0}
        onPublished={() => go('/admin/backends')}
      />
    </>
  );
}

/** Sends one small streamed request before anybody depends on the backend. */
function Trial({ draft, yaml }: { draft: AdminCatalogImport; yaml: string }) {
  const { t, i18n } = useTranslation();
  const model = draft.new.find(({ type }) => type === 'chat_completion')?.model;
  const trial = useAction(
    async (name: string) =>
      await call('POST /api/console/admin/backends/try', {
        body: { yaml, backend: draft.upstream, model: name },
      }),
  );
  if (model === undefined) return null;
  const { data } = trial;
  return (
    <Card
      title={<StepTitle number={5} title={t('newBackend.test')} isDone={data?.ok === true} />}
      hint={t('newBackend.testHint')}
      actions={
        <Button busy={trial.isPending} onClick={() => trial.mutate(model)}>
          {t('newBackend.try', { model })}
        </Button>
      }
    >
      <FormError error={trial.error} />
      {data ? (
        <div role="status">
          <p className={classes('font-medium', data.ok ? 'text-accent' : 'text-bad')}>
            {t(data.ok ? 'backends.testOk' : 'backends.testFailed', {
              time: formatDuration(data.durationMs, i18n.language),
            })}
            {data.ok ? null : `: ${data.detail}`}
          </p>
          {data.text === '' ? null : (
            <blockquote className="mt-2 border-l-2 border-line pl-3 break-words whitespace-pre-wrap">
              {data.text}
            </blockquote>
          )}
          {data.ok ? (
            <p className="mt-2 text-sm text-ink-3">
              {t('newBackend.used', { input: data.inputTokens ?? 0, output: data.outputTokens ?? 0 })}{' '}
              <Money usd={data.cost} kind="charge" />
            </p>
          ) : null}
        </div>
      ) : (
        <p className="text-ink-3">{t('newBackend.notTried')}</p>
      )}
    </Card>
  );
}
