import { useState } from 'react';
import { useAction } from '../../../lib/action.ts';
import { call } from '../../../lib/api.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import { Button } from '../../../ui/Button.tsx';
import { TextField } from '../../../ui/Field.tsx';
import { Form } from '../../../ui/Form.tsx';
import { FormError } from '../../../ui/States.tsx';
import { READS_OF_DRAFT } from './draft.ts';

interface MissingKeyProps {
  readonly name: string;
  /** The only server that the key is sent to. */
  readonly host: string;
  readonly button?: string;
  readonly onStored?: (() => void) | undefined;
}

/** Stores a key where it was found missing. It is never shown again. */
export function MissingKey({ name, host, button, onStored }: MissingKeyProps) {
  const { t } = useTranslation();
  const [value, setValue] = useState('');
  const store = useAction(
    async () =>
      await call('PUT /api/console/admin/catalog/keys/{id}', {
        params: { id: name },
        body: { value: value.trim(), host },
      }),
    {
      refresh: [...READS_OF_DRAFT, 'GET /api/console/admin/catalog/keys', 'GET /api/console/admin/providers'],
      onDone: () => {
        setValue('');
        onStored?.();
      },
    },
  );
  return (
    <Form className="mt-2 flex flex-wrap items-start gap-3" onSubmit={() => store.mutate()}>
      <TextField
        label={t('draft.keyOf', { name })}
        hint={t('newBackend.keyHint', { host: new URL(host).host })}
        required
        type="password"
        autoComplete="off"
        maxLength={4_096}
        value={value}
        onChange={(event) => setValue(event.target.value)}
        fieldClassName="w-full sm:w-96"
      />
      <Button type="submit" busy={store.isPending} className="sm:mt-6.5">
        {button ?? t('newBackend.storeKey')}
      </Button>
      <FormError error={store.error} />
    </Form>
  );
}
