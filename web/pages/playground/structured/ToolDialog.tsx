import { useState } from 'react';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { Dialog } from '../../../ui/Dialog.tsx';
import { TextField } from '../../../ui/Field.tsx';
import { Form } from '../../../ui/Form.tsx';
import { MAX_DESCRIPTION, toolProblems, type ToolDraft } from './answerForm.ts';
import { NO_PARAMETERS, TOOL_EXAMPLE } from './examples.ts';
import { problemText, SchemaField } from './SchemaField.tsx';

interface ToolDialogProps {
  /** Undefined for a new one. */
  readonly tool: ToolDraft | undefined;
  readonly others: readonly string[];
  readonly onSave: (tool: ToolDraft) => void;
  readonly onClose: () => void;
}

/** Edits one tool; only a valid one can be saved. */
export function ToolDialog({ tool, others, onSave, onClose }: ToolDialogProps) {
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
