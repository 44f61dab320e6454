import { useState } from 'react';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { TextField } from '../../../ui/Field.tsx';
import { Form } from '../../../ui/Form.tsx';
import { FormError } from '../../../ui/States.tsx';
import { toast } from '../../../ui/Toast.tsx';
import { READS_OF_CATALOG } from '../draft/draft.ts';

interface PublishProps {
  readonly yaml: string;
  /** The version that the draft began from. */
  readonly revision: number;
  readonly onPublished: () => void;
}

export function Publish({ yaml, revision, onPublished }: PublishProps) {
  const { t } = useTranslation();
  const [note, setNote] = useState('');
  const save = useAction(
    async () =>
      await call('POST /api/console/admin/catalog', { body: { yaml, note: note.trim(), revision } }),
    {
      refreshOnConflict: READS_OF_CATALOG,
      refresh: READS_OF_CATALOG,
      onDone: () => {
        toast(t('catalog.saved'));
        onPublished();
      },
    },
  );
  const conflict = save.error?.code === 'conflict' ? new Error(t('catalog.conflict')) : undefined;
  return (
    <Form className="flex flex-col gap-3 border-t border-line pt-4" onSubmit={() => save.mutate()}>
      <TextField
        label={t('catalog.noteOptional')}
        maxLength={200}
        value={note}
        onChange={(event) => setNote(event.target.value)}
      />
      <FormError error={conflict ?? save.error} />
      <Button type="submit" kind="primary" busy={save.isPending} className="self-start">
        {t('catalog.save')}
      </Button>
    </Form>
  );
}
