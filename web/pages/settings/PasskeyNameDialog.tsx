import { useState } from 'react';
import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { TextField } from '../../ui/Field.tsx';
import { Form } from '../../ui/Form.tsx';
import { FormError } from '../../ui/States.tsx';

interface PasskeyNameDialogProps {
  readonly title: string;
  readonly lead?: string;
  readonly name?: string;
  readonly go: string;
  readonly error: Error | null;
  readonly busy: boolean;
  readonly onName: (name: string) => void;
  readonly onClose: () => void;
}

/** What to call a passkey: the name is how its owner will know which device to take off the list. */
export function PasskeyNameDialog(props: PasskeyNameDialogProps) {
  const { t } = useTranslation();
  const [name, setName] = useState(props.name ?? '');
  return (
    <Dialog open title={props.title} onClose={props.onClose}>
      <Form onSubmit={() => props.onName(name.trim())}>
        {props.lead ? <p className="text-ink-2">{props.lead}</p> : null}
        <TextField
          label={t('settings.passkeyName')}
          hint={t('settings.passkeyNameHint')}
          autoFocus
          autoComplete="off"
          required
          pattern=".*\S.*"
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <FormError error={props.error} />
        <div className="flex justify-end gap-2">
          <Button onClick={props.onClose}>{t('common.cancel')}</Button>
          <Button type="submit" kind="primary" busy={props.busy}>
            {props.go}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
