import { useTranslation } from '../lib/translation.tsx';
import { Mark } from '../ui/Logo.tsx';
import { Skeleton, SkeletonRows } from '../ui/States.tsx';

export function Splash() {
  const { t } = useTranslation();
  return (
    <div role="status" aria-label={t('common.loading')} className="grid min-h-[60dvh] place-items-center">
      <Mark size={36} className="animate-breathe text-ink-3" />
    </div>
  );
}

export function PageSkeleton() {
  const { t } = useTranslation();
  return (
    <div
      role="status"
      aria-label={t('common.loading')}
      className="mx-auto w-full max-w-[72rem] px-4 pt-6 sm:px-8 sm:pt-8"
    >
      <Skeleton className="mb-2 h-6 w-44" />
      <Skeleton className="mb-6 h-4 w-72 max-w-full" />
      <SkeletonRows rows={5} />
    </div>
  );
}
