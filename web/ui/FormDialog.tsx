import { useId, type ReactNode } from 'react';
import type { ApiError } from '../lib/api.ts';
import { useTranslation } from '../lib/translation.tsx';
import { Button } from './Button.tsx';
import { Dialog } from './Dialog.tsx';
import { FormError } from './States.tsx';

interface FormDialogProps {
  readonly title: ReactNode;
  /** The label of the button that sends the form. */
  readonly go: string;
  /** What sending it does: whether it is under way, and why it failed. */
  readonly action: { readonly isPending: boolean; readonly error: ApiError | null };
  readonly onSubmit: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A dialog that is a form: fields, a button that sends them, one that closes it, and the error if sending failed. */
export function FormDialog({ title, go, action, onSubmit, onClose, children }: FormDialogProps) {
  const { t } = useTranslation();
  const formId = useId();
  return (
    <Dialog
      open
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button kind="primary" type="submit" form={formId} busy={action.isPending}>
            {go}
          </Button>
        </>
      }
    >
      <form
        id={formId}
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit();
        }}
      >
        {children}
        <FormError error={action.error} />
      </form>
    </Dialog>
  );
}
