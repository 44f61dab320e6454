import { saveFile } from '../../../lib/download.ts';
import { useTranslation } from '../../../lib/translation.tsx';
import Download from 'lucide-react/icons/download';
import type { AdminMadeCodes } from '../../../../src/console/contract.ts';
import { Button } from '../../../ui/Button.tsx';
import { CopyButton } from '../../../ui/Copy.tsx';
import { Dialog } from '../../../ui/Dialog.tsx';

/** The only time the codes are seen. */
export function MadeCodes({ made, onClose }: { made: AdminMadeCodes; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Dialog
      open
      insistent
      title={t('codes.madeTitle', { count: made.codes.length })}
      onClose={onClose}
      footer={
        <>
          <CopyButton small={false} text={made.codes.join('\n')} />
          <Button icon={<Download size={15} aria-hidden />} onClick={() => saveCsv(made)}>
            {t('codes.downloadCsv')}
          </Button>
          <Button kind="primary" onClick={onClose}>
            {t('codes.savedThem')}
          </Button>
        </>
      }
    >
      <p className="mb-3 text-ink-2">{t('codes.madeLead')}</p>
      <pre
        data-testid="codes"
        className="thin-scroll max-h-72 overflow-y-auto rounded-md border border-line bg-sunken p-4 text-sm select-all"
      >
        {made.codes.join('\n')}
      </pre>
    </Dialog>
  );
}

function saveCsv(made: AdminMadeCodes): void {
  const lines = [
    'code,amount_usd,batch',
    ...made.codes.map((code) => `${code},${made.amountUsd},"${made.batch.replaceAll('"', '""')}"`),
  ];
  const name = `codes-${made.batch.replaceAll(/[^\w-]+/g, '-')}.csv`;
  saveFile(name, new Blob([`${lines.join('\r\n')}\r\n`], { type: 'text/csv' }));
}
