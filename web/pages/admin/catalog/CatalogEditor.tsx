import { useRef, type KeyboardEvent } from 'react';
import type { AdminCatalog, AdminCatalogProposal, AdminCatalogDraft } from '../../../lib/answers.ts';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { classes } from '../../../lib/classes.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { FormError } from '../../../ui/States.tsx';
import { useYamlDraft } from '../draft/yamlDraft.ts';
import { Proposal, Publish } from './PublishDraft.tsx';

interface CatalogEditorProps {
  readonly catalog: AdminCatalog;
  readonly draft: AdminCatalogDraft['draft'];
}

/** Edit, check, preview, publish: nothing goes live that was not seen in the preview. */
export function CatalogEditor({ catalog, draft }: CatalogEditorProps) {
  const { t } = useTranslation();
  const yaml = useYamlDraft(catalog.yaml, draft);
  const propose = useAction(async (text: string) => {
    const proposal = await call('POST /api/console/admin/catalog/propose', { body: { yaml: text } });
    return { yaml: text, proposal };
  });
  const checked = propose.data?.yaml === yaml.text ? propose.data.proposal : undefined;
  const ready = checked?.ok === true && checked.changes.length > 0 && !yaml.isPending && !draft?.isOutdated;
  return (
    <div
      className={classes('grid items-start gap-5', checked && 'xl:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]')}
    >
      <YamlField value={yaml.text} onChange={yaml.type} problems={checked?.problems ?? []} />
      <div className={classes('flex flex-col gap-4', checked ? 'xl:sticky xl:top-6' : 'order-first')}>
        <div className="flex flex-wrap items-center gap-3">
          <Button
            busy={propose.isPending}
            kind={ready ? 'plain' : 'primary'}
            onClick={() => propose.mutate(yaml.text)}
          >
            {t('catalog.check')}
          </Button>
          {yaml.isPending || draft ? (
            <span role="status" className="text-sm text-ink-3">
              {t(yaml.isPending ? 'draft.saving' : 'draft.savedNow')}
            </span>
          ) : null}
        </div>
        {yaml.isElsewhere ? (
          <div role="alert" className="rounded-md border border-warn-line bg-warn-soft px-4 py-3">
            <p className="mb-3 text-warn">{t('draft.elsewhere')}</p>
            <div className="flex flex-wrap gap-2">
              <Button small onClick={yaml.loadNewest}>
                {t('draft.loadNewest')}
              </Button>
              <Button small onClick={yaml.keepMine}>
                {t('draft.useMine')}
              </Button>
            </div>
          </div>
        ) : (
          <FormError error={yaml.error} />
        )}
        <FormError error={propose.error} />
        {checked ? <Proposal proposal={checked} onKeyStored={() => propose.mutate(yaml.text)} /> : null}
        {propose.data && !checked ? <p className="text-sm text-ink-3">{t('catalog.dirty')}</p> : null}
        {ready ? (
          <Publish
            yaml={yaml.text}
            revision={draft?.revision ?? catalog.revision ?? 0}
            onPublished={propose.reset}
          />
        ) : null}
      </div>
    </div>
  );
}

interface YamlFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly problems: AdminCatalogProposal['problems'];
}

const LINE_PX = 20;

/** A text area with line numbers; wrong lines are marked. Tab indents, unless Escape was pressed before. */
function YamlField({ value, onChange, problems }: YamlFieldProps) {
  const { t } = useTranslation();
  const gutter = useRef<HTMLDivElement>(null);
  const wrong = new Set(problems.map((problem) => problem.line));
  const lines = value.split('\n').length;
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    if (event.key !== 'Tab' || event.shiftKey || escaped.current) return;
    event.preventDefault();
    const { selectionStart, selectionEnd } = event.currentTarget;
    event.currentTarget.setRangeText('  ', selectionStart, selectionEnd, 'end');
    onChange(event.currentTarget.value);
  };
  // Escape lets the next Tab leave the field, so that it does not trap keyboard users.
  const escaped = useRef(false);
  return (
    <div className="relative flex h-[70dvh] min-h-80 overflow-hidden rounded-lg border border-field bg-surface font-mono text-sm focus-within:border-accent">
      <div
        ref={gutter}
        aria-hidden
        className="w-12 shrink-0 overflow-hidden border-r border-line bg-sunken py-3 text-right text-ink-3 select-none"
      >
        {Array.from({ length: lines }, (_, index) => (
          <div
            key={index}
            style={{ height: LINE_PX, lineHeight: `${LINE_PX}px` }}
            className={classes('pr-2', wrong.has(index + 1) && 'bg-bad-soft font-semibold text-bad')}
          >
            {index + 1}
          </div>
        ))}
      </div>
      <textarea
        aria-label={t('catalog.yaml')}
        aria-invalid={problems.length > 0 ? true : undefined}
        value={value}
        spellCheck={false}
        wrap="off"
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') escaped.current = true;
          else if (event.key !== 'Tab') escaped.current = false;
          onKeyDown(event);
        }}
        onScroll={(event) => {
          if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop;
        }}
        style={{ lineHeight: `${LINE_PX}px` }}
        className="thin-scroll min-w-0 flex-1 resize-none bg-transparent px-3 py-3 outline-none"
      />
    </div>
  );
}
