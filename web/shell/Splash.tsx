import { useTranslation } from '../lib/translation.tsx';
import { Mark } from '../ui/Logo.tsx';

export function Splash() {
  const { t } = useTranslation();
  return (
    <div role="status" aria-label={t('common.loading')} className="grid min-h-[60dvh] place-items-center">
      <Mark size={36} className="animate-breathe text-ink-3" />
    </div>
  );
}
