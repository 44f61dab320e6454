import { useTranslation } from '../../lib/translation.tsx';
import { Button } from '../../ui/Button.tsx';
import { CopyButton } from '../../ui/Copy.tsx';
import { Dialog } from '../../ui/Dialog.tsx';

export function BackupCodes({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Dialog
      open
      insistent
      title={t('settings.backupTitle')}
      onClose={onClose}
      footer={
        <Button kind="primary" onClick={onClose}>
          {t('key.savedIt')}
        </Button>
      }
    >
      <p className="mb-3 text-ink-2">{t('settings.backupLead')}</p>
      <CodeList codes={codes} />
    </Dialog>
  );
}

export function CodeList({ codes }: { codes: readonly string[] }) {
  return (
    <div className="rounded-md border border-line bg-sunken p-3">
      <ul className="grid grid-cols-2 gap-x-4 gap-y-1 font-mono text-sm">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="mt-3">
        <CopyButton text={codes.join('\n')} />
      </div>
    </div>
  );
}
