import { useState } from 'react';
import type { AdminBackendDetail } from '../../../../../src/console/contract.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { Button } from '../../../../ui/Button.tsx';
import { Card } from '../../../../ui/Card.tsx';
import { TextField } from '../../../../ui/Field.tsx';
import { Form } from '../../../../ui/Form.tsx';
import { FormError } from '../../../../ui/States.tsx';
import { useDraftEdit } from '../../draft/draft.ts';

export function BackendAddress({ backend }: { backend: AdminBackendDetail }) {
  const { t } = useTranslation();
  const written = backend.baseUrl ?? '';
  const [typed, setTyped] = useState<string>();
  const edit = useDraftEdit(() => setTyped(undefined));
  const address = (typed ?? written).trim().replace(/\/+$/, '');
  const isWrong = address === '' ? backend.usualAddress === null : !isAddress(address);
  const save = (): void => {
    if (!isWrong && address !== written)
      edit.mutate([{ kind: 'address', backend: backend.name, baseUrl: address }]);
  };
  return (
    <Card title={t('newBackend.address')} hint={t('backendEdit.addressHint')}>
      <Form className="flex flex-wrap items-start gap-4" onSubmit={save}>
        <TextField
          label={t('newBackend.address')}
          hideLabel
          inputMode="url"
          autoComplete="off"
          placeholder={backend.usualAddress ?? 'https://llm.example.com/v1'}
          error={isWrong ? t('newBackend.badAddress') : undefined}
          value={typed ?? written}
          onChange={(event) => setTyped(event.target.value)}
          onBlur={save}
          fieldClassName="w-full sm:w-[32rem] sm:max-w-full"
        />
        <Button type="submit" busy={edit.isPending} disabled={isWrong || address === written}>
          {t('backendEdit.apply')}
        </Button>
      </Form>
      <FormError error={edit.error} />
    </Card>
  );
}

/** A whole `${NAME}` is an address too: the variable has it. */
function isAddress(text: string): boolean {
  return (/^https?:\/\//.test(text) && URL.canParse(text)) || /^\$\{\w+\}$/.test(text);
}
