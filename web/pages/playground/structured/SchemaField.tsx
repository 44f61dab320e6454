import type { TFunction } from 'i18next';
import type { ReactNode } from 'react';
import { Field, Textarea } from '../../../ui/Field.tsx';
import { MAX_SCHEMA_CHARACTERS, type SchemaProblem } from './schemaCheck.ts';

interface SchemaFieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error: string | undefined;
  readonly value: string;
  readonly rows: number;
  readonly onChange: (value: string) => void;
}

/** A small editor for a JSON schema; mistakes are shown below it as they are typed. */
export function SchemaField({ label, hint, error, value, rows, onChange }: SchemaFieldProps) {
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

export function problemText({ kind, path, detail }: SchemaProblem, t: TFunction): string {
  if (kind === 'notJson' && detail !== '') {
    const [line, column] = detail.split(':');
    return t('structured.problem.notJsonAt', { line, column });
  }
  return t(`structured.problem.${kind}`, { path: path || t('structured.whole'), detail });
}
