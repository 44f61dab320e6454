import type { ReactNode } from 'react';
import { useTranslation } from '../../lib/translation.tsx';

interface FoldedDemosProps {
  readonly count: number;
  readonly children: ReactNode;
}

/** Demo models come last, folded, where others are sold. */
export function FoldedDemos({ count, children }: FoldedDemosProps) {
  const { t } = useTranslation();
  if (count === 0) return null;
  return (
    <details>
      <summary className="cursor-pointer text-sm font-medium text-ink-2">
        {t('public.demos', { count })}
      </summary>
      <div className="mt-3">{children}</div>
    </details>
  );
}
