import Download from 'lucide-react/icons/download';
import { urlOf } from '../../lib/api.ts';
import { useTranslation } from '../../lib/translation.tsx';
import { Card } from '../../ui/Card.tsx';

export function ExportCard() {
  const { t } = useTranslation();
  return (
    <Card title={t('settings.export')}>
      <div className="flex flex-col gap-4">
        <p className="text-ink-2">{t('settings.exportLead')}</p>
        <a
          href={urlOf('GET /api/console/export')}
          download
          className="inline-flex h-9 items-center gap-2 self-start rounded-md border border-line bg-surface px-3 font-medium hover:bg-hover"
        >
          <Download size={16} aria-hidden />
          {t('settings.exportGo')}
        </a>
      </div>
    </Card>
  );
}
