import { useState } from 'react';
import Pencil from 'lucide-react/icons/pencil';
import Plus from 'lucide-react/icons/plus';
import Trash2 from 'lucide-react/icons/trash-2';
import type { ModelItem } from '../../../lib/answers.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button, IconButton } from '../../../ui/Button.tsx';
import { Segments } from '../../../ui/Segments.tsx';
import { ANSWERS_AS, formProblem, MAX_TOOLS, type AnswerForm } from './answerForm.ts';
import { SCHEMA_EXAMPLES } from './examples.ts';
import { problemText, SchemaField } from './SchemaField.tsx';
import { ToolDialog } from './ToolDialog.tsx';

interface AnswerFieldsProps {
  readonly form: AnswerForm;
  readonly model: ModelItem;
  readonly change: (next: Partial<AnswerForm>) => void;
}

/** The format of the answer, text or JSON, and the tools that the model may call. */
export default function AnswerFields({ form, model, change }: AnswerFieldsProps) {
  const { t } = useTranslation();
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-col gap-1.5">
        <p className="text-sm font-medium text-ink-2">{t('structured.answerAs')}</p>
        <Segments
          label={t('structured.answerAs')}
          value={form.answerAs}
          onChange={(answerAs) => change({ answerAs })}
          options={ANSWERS_AS.map((value) => ({ value, label: t(`structured.as.${value}`) }))}
        />
        {form.answerAs === 'json' ? <p className="text-sm text-ink-3">{t('structured.jsonHint')}</p> : null}
      </div>
      {form.answerAs === 'schema' ? <SchemaEditor form={form} change={change} /> : null}
      {model.tools ? <ToolList form={form} model={model} change={change} /> : null}
    </div>
  );
}

function SchemaEditor({ form, change }: Omit<AnswerFieldsProps, 'model'>) {
  const { t } = useTranslation();
  const problem = formProblem(form);
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap gap-2">
        {(['contact', 'review'] as const).map((name) => (
          <Button key={name} small onClick={() => change({ schema: SCHEMA_EXAMPLES[name] })}>
            {t(`structured.example.${name}`)}
          </Button>
        ))}
      </div>
      <SchemaField
        label={t('structured.schema')}
        hint={t('structured.schemaHint')}
        // An empty field is not shown as wrong, although nothing can be sent.
        error={problem && form.schema.trim() !== '' ? problemText(problem, t) : undefined}
        rows={12}
        value={form.schema}
        onChange={(schema) => change({ schema })}
      />
    </div>
  );
}

function ToolList({ form, model, change }: AnswerFieldsProps) {
  const { t } = useTranslation();
  const [edited, setEdited] = useState<number>();
  const { tools } = form;
  return (
    <section aria-label={t('structured.tools')} className="flex flex-col gap-2">
      <h2 className="text-sm font-medium text-ink-2">{t('structured.tools')}</h2>
      <p className="text-sm text-ink-3">
        {model.model === 'house-echo' && tools[0]
          ? t('structured.echoHint', { name: tools[0].name })
          : t('structured.toolsHint')}
      </p>
      {tools.length > 0 ? (
        <ul className="divide-y divide-line rounded-md border border-line">
          {tools.map((tool, index) => (
            <li key={tool.name} className="flex items-center gap-1 py-1 pr-1 pl-3">
              <span className="min-w-0 flex-1 truncate font-mono text-sm">{tool.name}</span>
              <IconButton
                label={t('structured.editTool', { name: tool.name })}
                onClick={() => setEdited(index)}
              >
                <Pencil size={14} aria-hidden />
              </IconButton>
              <IconButton
                label={t('structured.removeTool', { name: tool.name })}
                onClick={() => change({ tools: tools.filter((_, other) => other !== index) })}
              >
                <Trash2 size={14} aria-hidden />
              </IconButton>
            </li>
          ))}
        </ul>
      ) : null}
      <Button
        small
        className="self-start"
        disabled={tools.length >= MAX_TOOLS}
        icon={<Plus size={14} aria-hidden />}
        onClick={() => setEdited(tools.length)}
      >
        {t('structured.addTool')}
      </Button>
      {edited === undefined ? null : (
        <ToolDialog
          tool={tools[edited]}
          others={tools.filter((_, index) => index !== edited).map(({ name }) => name)}
          onSave={(tool) => change({ tools: [...tools.slice(0, edited), tool, ...tools.slice(edited + 1)] })}
          onClose={() => setEdited(undefined)}
        />
      )}
    </section>
  );
}
