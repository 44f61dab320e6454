import { useState, type ReactNode } from 'react';
import Pencil from 'lucide-react/icons/pencil';
import Plus from 'lucide-react/icons/plus';
import Trash2 from 'lucide-react/icons/trash-2';
import type { ModelItem } from '../../../lib/answers.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button, IconButton } from '../../../ui/Button.tsx';
import { Segments } from '../../../ui/Segments.tsx';
import {
  ANSWERS_AS,
  formProblem,
  MAX_TOOLS,
  type AnswerForm,
  MAX_DESCRIPTION,
  toolProblems,
  type ToolDraft,
} from './answerForm.ts';
import { SCHEMA_EXAMPLES, NO_PARAMETERS, TOOL_EXAMPLE } from './examples.ts';
import { Dialog } from '../../../ui/Dialog.tsx';
import { TextField, Field, Textarea } from '../../../ui/Field.tsx';
import { Form } from '../../../ui/Form.tsx';
import type { TFunction } from 'i18next';
import { MAX_SCHEMA_CHARACTERS, type SchemaProblem } from './schemaCheck.ts';

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

interface ToolDialogProps {
  /** Undefined for a new one. */
  readonly tool: ToolDraft | undefined;
  readonly others: readonly string[];
  readonly onSave: (tool: ToolDraft) => void;
  readonly onClose: () => void;
}

/** Edits one tool; only a valid one can be saved. */
function ToolDialog({ tool, others, onSave, onClose }: ToolDialogProps) {
  const { t } = useTranslation();
  const [draft, setDraft] = useState(tool ?? { name: '', description: '', parameters: NO_PARAMETERS });
  const problems = toolProblems(draft, others);
  const change = (next: Partial<ToolDraft>): void => setDraft((before) => ({ ...before, ...next }));
  return (
    <Dialog open title={tool ? t('structured.toolTitle') : t('structured.addTool')} onClose={onClose}>
      <Form
        onSubmit={() => {
          if (problems.name || problems.parameters) return;
          onSave(draft);
          onClose();
        }}
      >
        <TextField
          label={t('structured.toolName')}
          hint={t('structured.toolNameHint')}
          error={problems.name && draft.name !== '' ? t(`structured.name.${problems.name}`) : undefined}
          data-autofocus
          required
          maxLength={64}
          spellCheck={false}
          className="font-mono"
          value={draft.name}
          onChange={(event) => change({ name: event.target.value })}
        />
        <TextField
          label={t('structured.toolDescription')}
          hint={t('structured.toolDescriptionHint')}
          maxLength={MAX_DESCRIPTION}
          value={draft.description}
          onChange={(event) => change({ description: event.target.value })}
        />
        <SchemaField
          label={t('structured.toolParameters')}
          hint={t('structured.toolParametersHint')}
          error={problems.parameters ? problemText(problems.parameters, t) : undefined}
          rows={10}
          value={draft.parameters}
          onChange={(parameters) => change({ parameters })}
        />
        <div className="flex flex-wrap justify-end gap-2">
          {tool ? null : (
            <Button
              className="mr-auto"
              onClick={() => change(TOOL_EXAMPLE)}
              disabled={others.includes(TOOL_EXAMPLE.name)}
            >
              {t('structured.toolExample')}
            </Button>
          )}
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button
            type="submit"
            kind="primary"
            disabled={problems.name !== undefined || problems.parameters !== undefined}
          >
            {t('common.save')}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

interface SchemaFieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error: string | undefined;
  readonly value: string;
  readonly rows: number;
  readonly onChange: (value: string) => void;
}

/** A small editor for a JSON schema; mistakes are shown below it as they are typed. */
function SchemaField({ label, hint, error, value, rows, onChange }: SchemaFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(ids) => (
        <Textarea
          {...ids}
          rows={rows}
          value={value}
          spellCheck={false}
          autoCapitalize="off"
          autoCorrect="off"
          // One more than is allowed, so that the field can say that the text is too long.
          maxLength={MAX_SCHEMA_CHARACTERS + 1}
          className="font-mono text-sm max-sm:text-base"
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

function problemText({ kind, path, detail }: SchemaProblem, t: TFunction): string {
  if (kind === 'notJson' && detail !== '') {
    const [line, column] = detail.split(':');
    return t('structured.problem.notJsonAt', { line, column });
  }
  return t(`structured.problem.${kind}`, { path: path || t('structured.whole'), detail });
}
