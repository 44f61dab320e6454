import { useState } from 'react';
import { useAction } from '../../../../lib/action.ts';
import { call } from '../../../../lib/api.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { Button } from '../../../../ui/Button.tsx';
import { Card } from '../../../../ui/Card.tsx';
import { TextField } from '../../../../ui/Field.tsx';
import { Form } from '../../../../ui/Form.tsx';
import { FormError } from '../../../../ui/States.tsx';
import { toast } from '../../../../ui/Toast.tsx';
import type { ChosenProvider } from './provider.ts';

/** Stored sealed, and sent to this provider's server alone. */
export function KeyStep({ chosen, onStored }: { chosen: ChosenProvider; onStored: () => void }) {
  const { t } = useTranslation();
  const [value, setValue] = useState('');
  const store = useAction(
    async () =>
      await call('PUT /api/console/admin/catalog/keys/{id}', {
        params: { id: chosen.keyName ?? '' },
        body: { value: value.trim(), host: chosen.origin },
      }),
    {
      refresh: ['GET /api/console/admin/catalog/keys', 'GET /api/console/admin/providers'],
      onDone: () => {
        toast(t('catalog.keySet'));
        onStored();
      },
    },
  );
  return (
    <Card title={t('newBackend.key')} hint={t('newBackend.keyHint', { host: chosen.host })}>
      <Form className="flex flex-wrap items-start gap-4" onSubmit={() => store.mutate()}>
        <TextField
          label={t('newBackend.keyOf', { title: chosen.title })}
          required
          type="password"
          autoComplete="off"
          autoFocus
          maxLength={4_096}
          value={value}
          onChange={(event) => setValue(event.target.value)}
          fieldClassName="w-full sm:w-96"
        />
        <Button type="submit" kind="primary" busy={store.isPending} className="sm:mt-6.5">
          {t('newBackend.storeKey')}
        </Button>
      </Form>
      <FormError error={store.error} />
    </Card>
  );
}
