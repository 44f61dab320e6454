import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { CopyButton } from '../../ui/Copy.tsx';
import { Dialog } from '../../ui/Dialog.tsx';

interface SecretDialogProps {
  readonly title: string;
  readonly lead: string;
  readonly secret: string;
  readonly onClose: () => void;
}

/** A secret that is shown once, to be passed on. */
export function SecretDialog({ title, lead, secret, onClose }: SecretDialogProps) {
  const { t } = useTranslation();
  return (
    <Dialog
      open
      insistent
      title={title}
      onClose={onClose}
      footer={
        <>
          <CopyButton small={false} text={secret} />
          <Button kind="primary" onClick={onClose}>
            {t('common.done')}
          </Button>
        </>
      }
    >
      <p className="mb-3 text-ink-2">{lead}</p>
      <code className="block rounded-md border border-accent bg-accent-soft p-4 break-all select-all">
        {secret}
      </code>
    </Dialog>
  );
}
