import { useState } from 'react';
import type { AdminBackendDetail } from '../../../../../src/console/contract.ts';
import { useTranslation } from '../../../../lib/translation.tsx';
import { Button } from '../../../../ui/Button.tsx';
import { Card } from '../../../../ui/Card.tsx';
import { SelectField } from '../../../../ui/Field.tsx';
import { Form } from '../../../../ui/Form.tsx';
import { FormError } from '../../../../ui/States.tsx';
import { useDraftEdit } from '../../draft/draft.ts';
import { EndpointOrder } from './EndpointOrder.tsx';

/** Where the backend is called, and before or beside which others. */
export function BackendOrder({ backend }: { backend: AdminBackendDetail }) {
  const { t } = useTranslation();
  return (
    <Card title={t('backendEdit.order')} hint={t('backendEdit.orderHint')}>
      {backend.endpoints.length === 0 ? <p className="text-ink-3">{t('backendEdit.noEndpoints')}</p> : null}
      <div className="flex flex-col gap-6">
        {backend.endpoints.map((endpoint) => (
          <EndpointOrder key={endpoint.code} endpoint={endpoint} />
        ))}
        {backend.otherEndpoints.length > 0 ? <AddToEndpoint backend={backend} /> : null}
      </div>
    </Card>
  );
}

/** As the last to be tried: nothing changes for customers until it is moved up. */
function AddToEndpoint({ backend: { name, otherEndpoints } }: { backend: AdminBackendDetail }) {
  const { t } = useTranslation();
  const [code, setCode] = useState('');
  const edit = useDraftEdit(() => setCode(''));
  const endpoint = otherEndpoints.find((one) => one.code === code);
  return (
    <Form
      className="flex flex-wrap items-end gap-3 border-t border-line pt-4"
      onSubmit={() => {
        if (endpoint)
          edit.mutate([
            { kind: 'places', endpoint: code, places: [...endpoint.places, [{ upstream: name, weight: 1 }]] },
          ]);
      }}
    >
      <SelectField
        label={t('backendEdit.addTo')}
        hint={t('backendEdit.addToHint')}
        value={code}
        onChange={(event) => setCode(event.target.value)}
        fieldClassName="w-full sm:w-96"
      >
        <option value="">{t('backendEdit.chooseEndpoint')}</option>
        {otherEndpoints.map((one) => (
          <option key={one.code} value={one.code}>
            {one.name} ({one.code})
          </option>
        ))}
      </SelectField>
      <Button type="submit" busy={edit.isPending} disabled={!endpoint} className="sm:mb-6.5">
        {t('backendEdit.add')}
      </Button>
      <FormError error={edit.error} />
    </Form>
  );
}
