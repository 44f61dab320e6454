import { useState } from 'react';
import type { Settings } from '../../../src/console/contract.ts';
import { parseUsd } from '../../lib/money.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Card } from '../../ui/Card.tsx';
import { TextField } from '../../ui/Field.tsx';
import { FormError } from '../../ui/States.tsx';
import { useSaveSettings } from './useSettings.ts';
import { Form } from '../../ui/Form.tsx';

export function WarningCard({ settings }: { settings: Settings }) {
  const { t } = useTranslation();
  const [text, setText] = useState(settings.lowBalanceUsd ?? '');
  const save = useSaveSettings();
  const amount = text.trim() === '' ? null : parseUsd(text);
  const wrong = amount === undefined || amount?.startsWith('-') === true;
  return (
    <Card title={t('settings.warning')}>
      <Form
        onSubmit={() => {
          if (!wrong) save.mutate({ lowBalanceUsd: amount });
        }}
      >
        <p className="text-ink-2">{t('settings.warningLead')}</p>
        <TextField
          label={t('settings.threshold')}
          hint={t('settings.thresholdOff')}
          error={wrong ? t('settings.badAmount') : undefined}
          inputMode="decimal"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <FormError error={save.error} />
        <Button type="submit" busy={save.isPending} disabled={wrong} className="self-start">
          {t('common.save')}
        </Button>
      </Form>
    </Card>
  );
}
