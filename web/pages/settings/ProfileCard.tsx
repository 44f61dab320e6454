import { useState } from 'react';
import type { Settings } from '../../../src/console/contract.ts';
import { useUser } from '../../lib/session.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Card } from '../../ui/Card.tsx';
import { CopyText } from '../../ui/Copy.tsx';
import { TextField } from '../../ui/Field.tsx';
import { FormError } from '../../ui/States.tsx';
import { AddressState } from './AddressState.tsx';
import { useSaveSettings } from './useSettings.ts';
import { Form } from '../../ui/Form.tsx';

export function ProfileCard({ settings }: { settings: Settings }) {
  const { t } = useTranslation();
  const user = useUser();
  const [name, setName] = useState(settings.name);
  const save = useSaveSettings();
  return (
    <Card title={t('settings.profile')}>
      <Form onSubmit={() => save.mutate({ name: name.trim() })}>
        <TextField
          label={t('settings.name')}
          value={name}
          maxLength={100}
          autoComplete="name"
          onChange={(event) => setName(event.target.value)}
        />
        <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5 text-sm">
          <dt className="text-ink-3">{t('settings.email')}</dt>
          <dd className="truncate">{user.email}</dd>
          <dt className="text-ink-3">{t('settings.account')}</dt>
          <dd className="min-w-0">
            <CopyText text={user.accountId} />
          </dd>
        </dl>
        <AddressState />
        <FormError error={save.error} />
        <Button
          type="submit"
          busy={save.isPending}
          disabled={name.trim() === settings.name}
          className="self-start"
        >
          {t('common.save')}
        </Button>
      </Form>
    </Card>
  );
}
