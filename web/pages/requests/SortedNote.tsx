import { useTranslation } from 'react-i18next';
import type { Sorting } from '../../lib/sort.ts';

/** Says how far back a list that is not sorted by time goes. */
export function SortedNote({ sorting, when }: { sorting: Sorting; when: string }) {
  const { t } = useTranslation();
  if (sorting.current.by === 'time' || !when) return null;
  return (
    <p className="border-t border-line px-5 py-3 text-center text-sm text-ink-3">
      {t('tables.sortedSince', { when })}
    </p>
  );
}
