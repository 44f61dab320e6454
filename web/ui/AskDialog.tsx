import type { ReactNode } from 'react';
import { useTranslation } from '../lib/translation.tsx';
import { Button } from './Button.tsx';
import { Dialog } from './Dialog.tsx';

interface AskDialogProps {
  readonly open: boolean;
  readonly title: string;
  readonly children: ReactNode;
  /** Names the action, never just "OK". */
  readonly go: string;
  readonly onGo: () => void;
  readonly onClose: () => void;
  readonly kind?: 'danger' | 'primary';
}

export function AskDialog({ open, title, children, go, onGo, onClose, kind = 'danger' }: AskDialogProps) {
  const { t } = useTranslation();
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={title}
      footer={
        <>
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button
            kind={kind}
            onClick={() => {
              onClose();
              onGo();
            }}
          >
            {go}
          </Button>
        </>
      }
    >
      <div className="text-ink-2">{children}</div>
    </Dialog>
  );
}
